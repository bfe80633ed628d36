import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import document from '../../generated/openapi.json' with { type: 'json' }
import type { Config } from '../../src/config.ts'
import { operationAnchor } from '../../src/http/home.ts'
import {
  documentedUrl,
  documentPlaceholder,
  operationsPlaceholder,
  readPage,
} from '../../src/http/reference-routes.ts'
import { validRequests } from '../contract/valid-requests.ts'
import { share } from '../support/lifetime.ts'
import { type Service, startService } from '../support/service.ts'

/** In the form that scripts/docs-page.ts writes. */
const page = `<html><script>one()</script><p>${documentedUrl}</p>${operationsPlaceholder}<script type="module">draw(${documentPlaceholder})</script></html>`

/** The server in the introduction's commands. */
const introduced = 'http://localhost:3000'

describe.for(['', '/a/b.c'])('under the prefix "%s"', (prefix) => {
  let withPage: Service
  let withoutPage: Service
  share(async () => {
    withPage = await startService({ prefix, docsPage: page })
    withoutPage = await startService({ prefix })
  })

  test('operations, Location and Link begin with it', async () => {
    const created = await withPage.request(...validRequests(withPage.world).createApp)
    expect(created.headers.location).toBe(
      `http://apps.test${prefix}/apps/${created.body.data.app_id}`,
    )
    const list = await withPage.get('/apps?limit=1')
    expect(list.headers.link).toContain(
      `<http://apps.test${prefix}/apps?limit=1&page=2>; rel="next"`,
    )
    expect((await withPage.get('/nowhere')).status).toBe(404)
  })

  test('the document names its server', async () => {
    const json = await withPage.get('/openapi.json')
    const yaml = await withPage.get('/openapi.yaml')
    expect(yaml.headers['content-type']).toMatch(/^application\/yaml/)
    expect(parse(yaml.text)).toEqual(json.body)
    const here = JSON.parse(
      JSON.stringify(document).replaceAll(introduced, `http://apps.test${prefix}`),
    )
    expect(json.body).toEqual({
      ...here,
      servers: [{ url: `http://apps.test${prefix}`, description: 'This server' }],
    })
    // Aliases are hard to read.
    expect(yaml.text).not.toMatch(/: [&*]a\d/)
    expect(json.text).not.toContain(introduced)
    const samples = json.body.paths['/apps'].post['x-codeSamples']
    // The other samples have the address from the client that is generated from this document.
    expect(samples[0].source).toContain(`http://apps.test${prefix}/apps`)
    for (const { headers, path } of [json, yaml]) {
      expect(headers).toMatchObject({
        'access-control-allow-origin': '*',
        'cache-control': 'public, no-cache',
      })
      // Scripts that set If-None-Match also send no-cache.
      const asked = { 'If-None-Match': String(headers.etag), 'Cache-Control': 'no-cache' }
      expect((await withPage.get(path, { headers: asked })).status).toBe(304)
    }
  })

  test('the page has the document of its server', async () => {
    const { text } = await withPage.get('/docs')
    const drawn = /draw\((.*)\)<\/script>/.exec(text)?.[1]
    const { paths, ...shown } = JSON.parse(drawn ?? '')
    const { paths: servedPaths, ...served } = (await withPage.get('/openapi.json')).body
    expect(shown).toEqual(served)
    // An optional key is not shown as required.
    expect([paths['/apps'].get.security, paths['/apps/{id}'].get.security]).toEqual([[], []])
    expect(paths['/apps'].post).toEqual(servedPaths['/apps'].post)
    expect(drawn).not.toContain('<')
  })

  test('the page has its server, and a sample of each operation to which the introduction leads', async () => {
    const { text } = await withPage.get('/docs')
    expect(text).toContain(`<p>http://apps.test${prefix}</p>`)
    const anchors = [...text.matchAll(/<section id="(.*?)"/g)].map(([, id]) => id)
    const links = [...document.info.description.matchAll(/\| \[.*?\]\(docs#(.*?)\)/g)].map(
      ([, link]) => link,
    )
    expect(links).not.toEqual([])
    expect(anchors.toSorted()).toEqual(links.toSorted())
    const { text: home } = await withPage.get('/', { headers: { Accept: 'text/html' } })
    const samplesOf = (html: string) => html.match(/<pre>.*?<\/pre>/gs)
    expect(samplesOf(text)).toEqual(samplesOf(home))
  })

  test('the home page is HTML for browsers and JSON for programs, with the same links', async () => {
    const base = `http://apps.test${prefix}`
    const links = {
      'service-doc': `${base}/docs`,
      'service-desc': `${base}/openapi.json`,
      status: 'http://apps.test/healthz',
    }
    const browser = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
    for (const [path, headers, type] of [
      ['/', browser, 'text/html; charset=utf-8'],
      ['', browser, 'text/html; charset=utf-8'],
      ['/', {}, 'application/json; charset=utf-8'],
      ['/', { Accept: '*/*' }, 'application/json; charset=utf-8'],
      ['/', { Accept: 'image/png' }, 'application/json; charset=utf-8'],
    ] as const) {
      const home = await withPage.get(path, { headers })
      expect([home.status, home.headers['content-type']]).toEqual([200, type])
      expect(home.headers).toMatchObject({
        link: Object.entries(links)
          .map(([rel, href]) => `<${href}>; rel="${rel}"`)
          .join(', '),
        vary: 'Accept, Accept-Encoding',
      })
      const unchanged = { ...headers, 'If-None-Match': String(home.headers.etag) }
      expect((await withPage.get(path, { headers: unchanged })).status).toBe(304)
      for (const href of Object.values(links)) expect(home.text).toContain(href)
    }
    const { body } = await withPage.get('/')
    expect(body).toEqual({
      success: true,
      message: `Apps Service ${document.info.version}`,
      data: {
        links: Object.entries(links).map(([rel, href]) => ({
          rel,
          href,
          title: expect.any(String),
        })),
      },
    })
    expect((await withPage.request('POST', '/')).status).toBe(405)
  })

  test.for([
    { name: 'with a page', path: '/docs' },
    { name: 'without one', path: '/openapi.json' },
  ])('$name, a path that does not exist leads to the paths that do', async ({ path }) => {
    const service = path === '/docs' ? withPage : withoutPage
    const address = `http://apps.test${prefix}${path}`
    expect((await service.get(path)).status).toBe(200)
    for (const [method, unknown] of [
      ['GET', '/nowhere'],
      ['POST', '/apps/1/reviews'],
      ['OPTIONS', '/%'],
    ] as const) {
      const { status, body } = await service.request(method, unknown)
      expect([status, body]).toEqual([
        404,
        {
          success: false,
          message: `This path does not exist; ${address} lists those that do.`,
          data: { code: 'not_found' },
        },
      ])
    }
    expect((await service.request('HEAD', '/nowhere')).text).toBe('')
    const message = 'Not found; check the path and the id.'
    expect((await service.get('/apps/9999')).body.message).toBe(message)
  })
})

let withPage: Service
let withoutPage: Service
share(async () => {
  withPage = await startService({ docsPage: page })
  withoutPage = await startService()
})

test('the home page has a call of each operation, under a policy that allows only its own script', async () => {
  const { text, headers } = await withoutPage.get('/', { headers: { Accept: 'text/html' } })
  const decode = (html = '') =>
    html
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&amp;', '&')
  const calls = [...text.matchAll(/<pre>(.*?)<\/pre>/gs)].map(([, call]) => decode(call))
  const samples = Object.values((await withoutPage.get('/openapi.json')).body.paths).flatMap(
    (path) => Object.values(path as Record<string, { 'x-codeSamples': { source: string }[] }>),
  )
  expect(calls).not.toEqual([])
  expect(calls).toEqual(samples.map((operation) => operation['x-codeSamples'][0]?.source.trim()))
  for (const call of calls) expect(call).toContain(`http://apps.test/`)
  const [, script = ''] = /<script>(.*?)<\/script>/s.exec(text) ?? []
  expect(headers['content-security-policy']).toMatch(
    `default-src 'none'; script-src 'sha256-${hash('sha256', script, 'base64')}'; `,
  )
  // Pictures of the demo catalogue say nothing about this one.
  expect(text).not.toContain('<img')
  // Without a built reference there is no link to it.
  expect(text).not.toContain('/docs"')
})

test('serves the changes of the API as the changelog', async () => {
  const { text, headers } = await withoutPage.get('/changelog.md')
  expect([headers['content-type'], text.split('\n')[0]]).toEqual([
    'text/markdown; charset=utf-8',
    '# Changes of the API',
  ])
})

test('serves the worked example beside the document that it names', async () => {
  const example = await withoutPage.get('/life-cycle.arazzo.yaml')
  expect(example.status).toBe(200)
  expect(example.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'cache-control': 'public, no-cache',
  })
  expect(example.headers['content-type']).toMatch(/^application\/yaml/)
  const [source] = parse(example.text).sourceDescriptions
  expect((await withoutPage.get(`/${source.url}`)).status).toBe(200)
  const headers = { 'If-None-Match': String(example.headers.etag) }
  expect((await withoutPage.get(example.path, { headers })).status).toBe(304)
})

test('serves the page under a policy that allows only its own scripts', async () => {
  const { text, headers } = await withPage.get('/docs')
  const scripts = [...text.matchAll(/<script[^>]*>(.*?)<\/script>/gs)].map(
    ([, script = '']) => script,
  )
  expect(scripts).toHaveLength(2)
  const hashes = scripts.map((script) => `'sha256-${hash('sha256', script, 'base64')}'`)
  expect(String(headers['content-security-policy']).split('; ')).toEqual([
    "default-src 'none'",
    `script-src ${hashes.join(' ')}`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ])
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
  })
})

test('answers other spellings of these paths with 404', async () => {
  for (const path of ['/docs/', '/Docs', '/openapi.json/', '/OpenAPI.json', '/changelog.md/'])
    expect((await withPage.get(path)).status, path).toBe(404)
})

describe('the contact of the operators', () => {
  test.for<{ name: string; contact: Config['contact']; link: string | undefined }>([
    {
      name: 'a page',
      contact: { url: 'https://apps.example.org/keys(1)' },
      link: 'https://apps.example.org/keys%281%29',
    },
    {
      name: 'an address',
      contact: { email: 'keys@apps.example.org' },
      link: 'mailto:keys@apps.example.org',
    },
    { name: 'nothing', contact: {}, link: undefined },
  ])('$name', async ({ contact, link }) => {
    const service = await startService({ contact, docsPage: page })
    const { info } = (await service.get('/openapi.json')).body
    expect(info.contact).toEqual({ ...document.info.contact, ...contact })
    const linked = `[the operators of the catalogue](${link})`
    if (link) expect(info.description.split(linked)).toHaveLength(4)
    else expect(info.description).not.toContain('[the operators')
    const shown = (await service.get('/docs')).text
    if (link) expect(shown).toContain(linked)
    else expect(shown).not.toContain('[the operators')
  })
})

test('compresses the document and the page if the client accepts it', async () => {
  const service = withPage
  for (const path of ['/openapi.json', '/openapi.yaml', '/life-cycle.arazzo.yaml', '/docs']) {
    const plain = await service.get(path, { headers: { 'Accept-Encoding': 'identity' } })
    const packed = await service.get(path, { headers: { 'Accept-Encoding': 'gzip' } })
    expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([
      undefined,
      'gzip',
    ])
    expect(packed.text).toBe(plain.text)
    // A strong ETag identifies the bytes (RFC 9110, section 8.8.1).
    expect(packed.headers.etag).not.toBe(plain.headers.etag)
    expect(packed.headers.vary).toMatch(/Accept-Encoding/)
  }
})

test('health checks have no prefix', async () => {
  const service = await startService({ prefix: '/v1' })
  expect((await service.get('/healthz')).status).toBe(404)
  const response = await fetch(`http://127.0.0.1:${service.port}/healthz`)
  expect(response.status).toBe(200)
  expect((await fetch(`http://127.0.0.1:${service.port}/apps`)).status).toBe(404)
})

test('each operation that a text names is a link to it, and each link into the page leads somewhere', async () => {
  const { text, body } = await withoutPage.get('/openapi.json')
  const operations = Object.values(body.paths).flatMap((path) =>
    Object.values(path as Record<string, { operationId: string; tags: [string] }>),
  )
  const anchors = new Map(operations.map((one) => [one.operationId, operationAnchor(one)]))
  const sections = [...body.info.description.matchAll(/^## (.+)$/gm)].map(
    ([, heading]) => `/section/${heading.toLowerCase().replaceAll(' ', '-')}`,
  )
  const named = [...text.matchAll(/`(\w+)`(?:\]\(docs#(.*?)\))?/g)]
    .map(([, name = '', link]) => [name, link])
    .filter(([name = '']) => anchors.has(name))
  expect(named).not.toEqual([])
  expect(named).toEqual(named.map(([name = '']) => [name, anchors.get(name)]))
  const links = [...text.matchAll(/\]\(docs#(.*?)\)/g)].map(([, link]) => link)
  expect([...anchors.values(), ...sections]).toEqual(expect.arrayContaining(links))
})

test('reads the page if it was built', async () => {
  const file = `${import.meta.dirname}/../../generated/docs.html`
  expect(await readPage()).toBe(existsSync(file) ? readFileSync(file, 'utf8') : undefined)
})

test('has no page if none was built', async () => {
  expect((await withoutPage.get('/docs')).status).toBe(404)
})
