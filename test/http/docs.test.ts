import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import document from '../../generated/openapi.json' with { type: 'json' }
import { validRequests } from '../contract/valid-requests.ts'
import { startService } from '../support/service.ts'

const page = '<html><script>one()</script><script type="module">two()</script></html>'

/** The server in the introduction's commands. */
const introduced = 'http://localhost:3000'

describe.for(['', '/v1', '/a/b.c'])('under the prefix "%s"', (prefix) => {
  test('operations, Location and Link begin with it', async () => {
    const service = await startService({ prefix })
    const created = await service.request(...validRequests(service.world).createApp)
    expect(created.headers.location).toBe(`http://apps.test${prefix}/apps/${created.body.data.app_id}`)
    const list = await service.get('/apps?limit=1')
    expect(list.headers.link).toContain(`<http://apps.test${prefix}/apps?limit=1&page=2>; rel="next"`)
    expect((await service.get('/nowhere')).status).toBe(404)
  })

  test('the document names the server that it came from', async () => {
    const service = await startService({ prefix })
    const json = await service.get('/openapi.json')
    const yaml = await service.get('/openapi.yaml')
    expect(yaml.headers['content-type']).toMatch(/^application\/yaml/)
    expect(parse(yaml.text)).toEqual(json.body)
    const { info } = document
    expect(json.body).toEqual({
      ...document,
      info: { ...info, description: info.description.replace(introduced, `http://apps.test${prefix}`) },
      servers: [expect.objectContaining({ url: `http://apps.test${prefix}` })],
    })
    expect(json.text).not.toContain(introduced)
    for (const { headers, path } of [json, yaml]) {
      expect(headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'public, no-cache' })
      expect((await service.get(path, { headers: { 'If-None-Match': String(headers.etag) } })).status).toBe(304)
    }
  })

  test('the page names the server that it came from', async () => {
    const service = await startService({ prefix, docsPage: `<pre>${introduced}/apps</pre> "url":"${introduced}"` })
    const { text } = await service.get('/docs')
    expect(text).toBe(`<pre>http://apps.test${prefix}/apps</pre> "url":"http://apps.test${prefix}"`)
  })

  test('the worked example is there, beside the document that it names', async () => {
    const service = await startService({ prefix })
    const example = await service.get('/life-cycle.arazzo.yaml')
    expect(example.status).toBe(200)
    expect(example.headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'public, no-cache' })
    expect(example.headers['content-type']).toMatch(/^application\/yaml/)
    const [source] = parse(example.text).sourceDescriptions
    expect((await service.get(`/${source.url}`)).status).toBe(200)
    const headers = { 'If-None-Match': String(example.headers.etag) }
    expect((await service.get(example.path, { headers })).status).toBe(304)
  })

  test('the page is there, under a policy that runs its own scripts alone', async () => {
    const service = await startService({ prefix, docsPage: page })
    const reply = await service.get('/docs')
    expect(reply.text).toBe(page)
    const policy = String(reply.headers['content-security-policy'])
    for (const script of ['one()', 'two()']) expect(policy).toContain(`'sha256-${hash('sha256', script, 'base64')}'`)
    expect(policy).toMatch(/default-src 'none'/)
    expect(policy).not.toMatch(/script-src[^;]*unsafe/)
  })
})

test('the document and the page are compressed for those who take that', async () => {
  const service = await startService({ docsPage: page })
  for (const path of ['/openapi.json', '/openapi.yaml', '/life-cycle.arazzo.yaml', '/docs']) {
    const plain = await service.get(path, { headers: { 'Accept-Encoding': 'identity' } })
    const packed = await service.get(path, { headers: { 'Accept-Encoding': 'gzip' } })
    expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([undefined, 'gzip'])
    expect(packed.text).toBe(plain.text)
    // A strong tag is of the bytes (RFC 9110, section 8.8.1).
    expect(packed.headers.etag).not.toBe(plain.headers.etag)
    expect(packed.headers.vary).toMatch(/Accept-Encoding/)
  }
})

test('health checks stay outside the prefix', async () => {
  const service = await startService({ prefix: '/v1' })
  expect((await service.get('/healthz')).status).toBe(404)
  const response = await fetch(`http://127.0.0.1:${service.port}/healthz`)
  expect(response.status).toBe(200)
  expect((await fetch(`http://127.0.0.1:${service.port}/apps`)).status).toBe(404)
})

test('there is no page where none was built', async () => {
  const service = await startService()
  expect((await service.get('/docs')).status).toBe(404)
})
