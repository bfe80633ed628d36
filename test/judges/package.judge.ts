import { execFile, type StdioOptions, spawnSync } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, inject, test } from 'vitest'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { commandLine, serve } from '../support/process.ts'
import { typeErrors } from './tools.ts'

/**
 * clients/typescript as published: packed, installed beside a consumer's program, compiled and run.
 */

const root = `${import.meta.dirname}/../..`
const home = `${root}/clients/typescript`
const run = promisify(execFile)
const manifest = JSON.parse(readFileSync(`${home}/package.json`, 'utf8'))
const env = {
  ...process.env,
  PATH: `${root}/node_modules/.bin:${process.env.PATH}`,
  npm_config_offline: 'true',
}

let packed: string

beforeAll(async () => {
  await run('npm', ['pack', '--silent'], { cwd: home, env })
  packed = join(home, `${manifest.name}-${manifest.version}.tgz`)
})

/** Runs a program with the package installed, and returns its output. */
async function consume(source: string): Promise<string> {
  const folder = consumer(await unpacked(), source)
  const { stdout } = await run(process.execPath, [join(folder, 'program.ts')], { cwd: folder })
  return stdout.trimEnd()
}

async function unpacked(): Promise<string> {
  const folder = temporaryFolder()
  const installed = join(folder, 'node_modules', manifest.name)
  mkdirSync(installed, { recursive: true })
  await run('tar', ['xzf', packed, '-C', installed, '--strip-components', '1'])
  return folder
}

function consumer(folder: string, source: string): string {
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(folder, 'program.ts'), source)
  return folder
}

test('publint and attw find nothing wrong in the packed file', async () => {
  expect(lint(packed)).toEqual([])
})

test('publint and attw find types that exports names and the file lacks', async () => {
  const folder = temporaryFolder()
  await run('tar', ['xzf', packed, '-C', folder])
  const exports = { '.': { types: './dist/missing.d.ts', default: './dist/index.js' } }
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify({ ...manifest, exports }))
  await run('tar', ['czf', 'broken.tgz', 'package'], { cwd: folder })
  expect(lint(join(folder, 'broken.tgz'))).toEqual([
    expect.stringMatching(/types is .*missing\.d\.ts.* but the file does not exist/),
    expect.stringMatching(/FallbackCondition/),
  ])
})

/** The output of each tool that finds a mistake in a packed file. */
function lint(file: string): string[] {
  const commands = [
    ['publint', '--strict'],
    // The package is for ES modules only.
    ['attw', '--profile', 'esm-only'],
  ]
  const outputs = []
  for (const [tool, ...options] of commands) {
    const program = `${import.meta.dirname}/node_modules/.bin/${tool}`
    // To a file, since attw exits without waiting until a pipe has taken its output.
    const output = join(temporaryFolder(), 'output')
    const stdio: StdioOptions = ['ignore', openSync(output, 'w'), 'inherit']
    // publint colours its output if the variable CI is set.
    const { status } = spawnSync(program, [file, ...options], {
      env: { ...env, NO_COLOR: '1' },
      stdio,
    })
    if (status !== 0) outputs.push(readFileSync(output, 'utf8'))
  }
  return outputs
}

const readme = readFileSync(`${home}/README.md`, 'utf8')

/** The first example of its README, with a server's address and a key. */
const firstApp = (baseUrl: string, key: string) =>
  (/```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? '')
    .replace('http://localhost:3000', baseUrl)
    .replace('apps_YOUR_KEY', key)

/** The other examples, which continue the first. */
const examples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, source = '']) => source)

async function start() {
  const databaseFile = await copyWorld()
  const server = await serve(databaseFile)
  return { server, baseUrl: `http://127.0.0.1:${server.port}`, databaseFile, ...inject('world') }
}

test('runs the first example of its README after npm init -y', async () => {
  const { baseUrl, keys } = await start()
  const program = firstApp(baseUrl, keys.ada)
  expect(program.trim().split('\n').filter(Boolean)).toHaveLength(4)
  const folder = await unpacked()
  await run('npm', ['init', '-y'], { cwd: folder, env })
  writeFileSync(join(folder, 'first-app.mjs'), program)
  const { stdout } = await run(process.execPath, ['first-app.mjs'], { cwd: folder })
  expect(stdout).toMatch(/^{ app_id: \d+, slug: 'star-map', status: 'pending' }\n$/)
})

test('runs the other examples of its README', async () => {
  const { baseUrl, keys, apps, databaseFile, server } = await start()
  const [categories = '', lists = '', errors = '', decision = ''] = examples
  expect(examples).toHaveLength(4)
  const example = (source: string) =>
    consume(firstApp(baseUrl, keys.ada).replace(/^console.*$/m, '') + source)
  expect(await example(categories)).toBe('3 Empty 0\n2 Games 1\n1 Tools 1')
  expect(await example(lists)).toBe(`${apps.approved} Tide Clock\nBroken Compass It points south.`)
  expect(await example(errors)).toBe('star-map')

  const waiting = example(decision.replace('101', `${apps.pending}`).replace('60_000', '10'))
  const statuses = () => server.log.map((line) => JSON.parse(line).res?.statusCode)
  await expect.poll(statuses).toContain(304)
  await commandLine(databaseFile).run('moderation', 'approve', String(apps.pending))
  expect(await waiting).toMatch(/^Cloud Atlas approved \d{4}-\S+Z undefined$/)
})

test('the examples of its README compile', async () => {
  const program = [firstApp('http://localhost', 'key'), ...examples.map((one) => `{\n${one}}\n`)]
  expect(await compile(program.join(''))).toBe('')
})

test('options are typed', async () => {
  const program = `
      import { createClient, type Options } from 'apps-service-client'
      const headers = new Headers({ 'User-Agent': 'shop/1.0' })
      createClient('http://localhost', 'key', { fetch, headers, retries: 0, timeout: 5000 })
      createClient('http://localhost', undefined, { headers: { traceparent: '00-1' } })
      const counted: Options['fetch'] = (url, init) => fetch(url.toLowerCase(), { ...init, cache: 'no-store' })
      createClient('http://localhost', 'key', { fetch: counted })
      // @ts-expect-error a response is missing
      createClient('http://localhost', 'key', { fetch: async () => {} })
      // @ts-expect-error no such option
      createClient('http://localhost', 'key', { retry: 1 })`
  expect(await compile(program)).toBe('')
})

test('compiles under strict, and a switch over the codes of an operation is exhaustive', async () => {
  const codes = [
    ...[
      'invalid_request',
      'unauthorized',
      'not_found',
      'method_not_allowed',
      'not_acceptable',
      'request_timeout',
    ],
    ...['rate_limited', 'headers_too_large', 'internal_error', 'not_implemented', 'unavailable'],
    'http_version_not_supported',
  ]
  const advice = (name: string, cases: string[]) => `
    export async function ${name}(): Promise<string> {
      const { data, error } = await api.GET('/apps/{id}', { params: { path: { id: 1 } } })
      if (data) return data.data.app.name
      switch (error.data.code) {
        ${cases.map((code) => `case '${code}':`).join('\n')}
          return error.message
      }
    }`
  const program = `
    import { AppsError, createClient } from 'apps-service-client'
    const api = createClient('http://localhost')
    export function fields(error: unknown): string[] {
      if (!(error instanceof AppsError)) return []
      // @ts-expect-error data is not any
      error.data.colour
      return error.data.code === 'package_name_taken' ? error.data.errors.map(({ field }) => field) : []
    }
    ${advice('whole', codes)}
    // @ts-expect-error a code is left out
    ${advice('leftOut', codes.slice(1)).trim()}`
  expect(await compile(program)).toBe('')
})

test('a comparison of the code tells which fields the data has', async () => {
  const program = `
    import { AppsError, createClient } from 'apps-service-client'
    const api = createClient('http://localhost')
    const body = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
    const { error } = await api.POST('/apps', { body })
    if (error?.data.code === 'unknown_category') error.data.categories.map(({ slug }) => slug)
    if (error?.data.code === 'invalid_request') error.data.errors.map(({ message }) => message)
    if (error?.data.code === 'package_name_taken') error.data.app_id?.toFixed()
    if (error?.data.code === 'malformed_json') error.data.errors?.map(({ field }) => field)
    if (error?.data.code === 'idempotency_key_reused') error.data.errors.map(({ field }) => field)
    // @ts-expect-error only with one of its codes
    if (error?.data.code === 'malformed_json') error.data.errors.map(({ field }) => field)
    // @ts-expect-error only with unknown_category
    if (error?.data.code === 'idempotency_key_reused') error.data.categories.length
    // @ts-expect-error a read has no such code
    if ((await api.GET('/apps')).error?.data.code === 'unknown_category') throw error
    const updated = await api.PUT('/apps/{id}', { params: { path: { id: 1 } }, body: {} })
    if (updated.error?.data.code === 'unknown_category') updated.error.data.categories.length
    export function describe(error: unknown): string {
      if (!(error instanceof AppsError)) throw error
      switch (error.data.code) {
        case 'unknown_category':
          return error.data.categories.map(({ name }) => name).join()
        case 'invalid_request':
        case 'package_name_taken':
          return error.data.errors.map(({ field }) => field).join()
        default:
          return error.message
      }
    }`
  expect(await compile(program)).toBe('')
})

test('refuses calls that the document does not describe when they are compiled', async () => {
  const program = `
    import { type CountedCategory, createClient, type OwnApp, type OwnListQuery } from 'apps-service-client'
    const api = createClient('http://localhost')
    const app = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }
    const path = { id: 1 }
    api.GET('/apps')
    api.GET('/apps', { params: { query: { slug: 'star-map', package_name: 'org.example.starmap' } } })
    api.GET('/categories').then(({ data }) => data?.data.categories.map(({ app_count }) => app_count.toFixed()))
    api.GET('/developer/apps', { params: { query: { status: 'pending', page: 2 } } })
    const own: OwnListQuery = { status: 'rejected', limit: 10 }
    api.allOwnApps(own, { signal: AbortSignal.timeout(1000) }).next().then(({ value }) => value?.rejection_reason?.length)
    export const counts = (categories: CountedCategory[]) => categories.map(({ app_count }) => app_count)
    export const first = async (): Promise<OwnApp | void> => (await api.allOwnApps().next()).value
    api.GET('/apps', { params: { query: { sort: 'popular', page: 2 } }, headers: { traceparent: 'x' }, cache: 'no-store' })
    api.POST('/apps', { body: app, params: { header: { 'Idempotency-Key': 'own' } } })
    api.PUT('/apps/{id}', { body: { version: '2.0.0' }, params: { path, header: { 'If-Match': '"x"' } } })
    api.DELETE('/apps/{id}', { params: { path } }).then(({ data }) => data?.data.app_id.toFixed())
    // @ts-expect-error categories have no pages
    api.GET('/categories', { params: { query: { page: 2 } } })
    // @ts-expect-error no such status
    api.GET('/developer/apps', { params: { query: { status: 'deleted' } } })
    // @ts-expect-error own apps cannot be searched
    api.allOwnApps({ search: 'tide' })
    // @ts-expect-error the iteration chooses the page
    api.allOwnApps({ page: 2 })
    // @ts-expect-error a public list has no status
    api.allApps().next().then(({ value }) => value?.status)
    // @ts-expect-error no such path
    api.GET('/app')
    // @ts-expect-error no such method of the path
    api.DELETE('/apps')
    // @ts-expect-error no such order
    api.GET('/apps', { params: { query: { sort: 'newest' } } })
    // @ts-expect-error no such parameter
    api.GET('/apps', { params: { query: { colour: 'red' } } })
    // @ts-expect-error the id is missing
    api.GET('/apps/{id}')
    // @ts-expect-error the id is missing
    api.GET('/apps/{id}', { params: {} })
    // @ts-expect-error an id is a number
    api.GET('/apps/{id}', { params: { path: { id: '1' } } })
    // @ts-expect-error a read has no body
    api.GET('/apps/{id}', { params: { path }, body: app })
    // @ts-expect-error the body is missing
    api.POST('/apps')
    // @ts-expect-error the description is missing
    api.POST('/apps', { body: { name: 'Star Map', category_id: 1 } })
    // @ts-expect-error no such field
    api.POST('/apps', { body: { ...app, colour: 'red' } })
    // @ts-expect-error an ETag is text
    api.PUT('/apps/{id}', { body: {}, params: { path, header: { 'If-Match': 1 } } })
    // @ts-expect-error no such option
    api.GET('/apps', { retries: 1 })
    // @ts-expect-error the data of a deletion has no slug
    api.DELETE('/apps/{id}', { params: { path } }).then(({ data }) => data?.data.slug)`
  expect(await compile(program)).toBe('')
})

const strict = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext']
const stricter = [...strict, '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']

/**
 * The errors of tsc for a program with the package installed, also with options that are stricter
 * than strict.
 */
async function compile(program: string): Promise<string> {
  const folder = consumer(await unpacked(), program)
  const errors = [strict, stricter].map((options) => typeErrors(folder, ...options, 'program.ts'))
  return (await Promise.all(errors)).join('')
}
