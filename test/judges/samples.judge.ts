import { execFile } from 'node:child_process'
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, request as forward, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { accountStore } from '../../src/accounts/store.ts'
import { categoryStore } from '../../src/catalogue/categories.ts'
import { openDatabase } from '../../src/db/database.ts'
import { documentedUrl } from '../../src/http/docs.ts'
import { importLines } from '../support/catalogue-file.ts'
import { emptyDatabaseUrl, temporaryFolder } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { type Run, type Served, serve } from '../support/process.ts'

/**
 * Runs the document's samples as copied from the docs page of a server, which inserts its own address. The reader inserts
 * the key.
 */

const root = `${import.meta.dirname}/../..`
const languages = { curl: 'sh', TypeScript: 'ts', Python: 'py' } as const
type Language = keyof typeof languages

type Operation = { operationId: string; 'x-codeSamples': { label: string; source: string }[] }
const operations = Object.values(document.paths).flatMap((path) => Object.values<Operation>(path))

type Scene = { server: Served; baseUrl: string; key: string }

type Expectation = { answer: (scene: Scene) => Promise<unknown>; lines: (scene: Scene) => Promise<string[]> }

/** The output of the curl sample and the lines of the others, with checks of their effect. */
const expectations: Record<string, Expectation> = {
  listApps: {
    answer: async ({ server }) => {
      const { body } = await server.request('GET', '/apps?search=tide+table&sort=rating&limit=20')
      expect(body.data.apps).toHaveLength(20)
      return body
    },
    lines: async ({ server }) => {
      const { body } = await server.request('GET', '/apps?search=tide&limit=100')
      expect(body.data.apps).toHaveLength(42)
      return body.data.apps.map(({ id, name }: { id: number; name: string }) => `${id} ${name}`)
    },
  },
  getApp: {
    answer: async ({ server }) => (await server.request('GET', '/apps/42')).body,
    lines: async () => ['Tide Clock 4.5', '5 Right to the minute, every day.', '4 '],
  },
  createApp: {
    answer: async (scene) => {
      await expectCreated(scene)
      const data = { app_id: 43, slug: 'cloud-atlas', status: 'pending' }
      return { success: true, message: 'App created; it awaits admin approval.', data }
    },
    lines: async (scene) => {
      await expectCreated(scene)
      return ['43 pending']
    },
  },
  updateApp: {
    answer: async ({ server }) => {
      const { data } = (await server.request('GET', '/apps/42')).body
      expect(data.app.version).toBe('2.5.0')
      return { success: true, message: 'App updated.', data }
    },
    lines: async ({ server }) => {
      expect((await server.request('GET', '/apps/42')).body.data.app.version).toBe('2.5.0')
      return ['2.5.0']
    },
  },
  deleteApp: {
    answer: async ({ server }) => {
      expect((await server.request('GET', '/apps/42')).status).toBe(404)
      return { success: true, message: 'App deleted.', data: { app_id: 42 } }
    },
    lines: async ({ server }) => {
      expect((await server.request('GET', '/apps/42')).status).toBe(404)
      return ['42 App deleted.']
    },
  },
}

async function expectCreated({ server, key }: Scene) {
  expect((await server.request('GET', '/apps/43', { key })).body.data.app).toMatchObject({
    name: 'Cloud Atlas',
    description: 'Names the clouds above you.',
    category_id: 3,
    status: 'pending',
  })
}

const samples = operations.flatMap((operation) =>
  operation['x-codeSamples'].map(({ label, source }) => ({
    operationId: operation.operationId,
    // The linter requires these labels, which the JSON's type does not know.
    language: label as Language,
    source,
  })),
)

test.for(samples)('$operationId in $language does what it says', async ({ operationId, language, source }) => {
  const scene = await startScene()
  const { code, stdout, stderr } = await runSample(language, source, scene)
  expect(code, stderr).toBe(0)
  await expect.poll(() => loggedRequests(scene).at(-1)).toMatchObject({ operation: operationId })
  expect(loggedRequests(scene).filter(({ res }) => res.statusCode >= 400)).toEqual([])
  expect(stdout).toMatch(language === 'curl' ? /^{"success":true,/ : /^(?!.*(undefined|None|NaN|\[object)).+\n/s)
  const { answer, lines } = expectations[operationId] ?? {}
  if (language === 'curl') expect(answer && JSON.parse(stdout)).toEqual(await answer?.(scene))
  else if (lines) expect(stdout.trimEnd().split('\n')).toEqual((await lines(scene)).join('\n').trimEnd().split('\n'))
})

const loggedRequests = ({ server }: Scene) => server.log.map((line) => JSON.parse(line)).filter(({ res }) => res)

test.for(samples)('$operationId in $language reports an error response', async ({ language, source }) => {
  const scene = await startScene()
  const { code, stdout, stderr } = await runSample(language, source, { ...scene, baseUrl: `${scene.baseUrl}/nowhere` })
  expect(stdout + stderr).toMatch(/Not found; check the path and the id|404/)
  if (language !== 'curl') expect(code).not.toBe(0)
})

test.for(samples.filter(({ operationId }) => operationId === 'updateApp'))(
  '$operationId in $language changes nothing if the app has changed since it was read',
  async ({ language, source }) => {
    const scene = await startScene()
    const { server, key } = scene
    const baseUrl = await startProxy(scene.baseUrl, async ({ method }) => {
      if (method === 'PUT') await server.request('PUT', '/apps/42', { key, json: { version: '3.0.0' } })
    })
    const { stdout, stderr } = await runSample(language, source, { ...scene, baseUrl })
    expect(stdout + stderr).toMatch(/The app has changed since you read it|412/)
    expect((await server.request('GET', '/apps/42')).body.data.app.version).toBe('3.0.0')
  },
)

test('the TypeScript samples compile under strict with the types from the introduction', async () => {
  const folder = consumerFolder()
  for (const { operationId, language, source } of samples) {
    if (language === 'TypeScript') writeFileSync(join(folder, `${operationId}.ts`), source)
  }
  const compilerOptions = { strict: true, noEmit: true, target: 'es2022', module: 'nodenext', types: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  const { code, stdout } = await execute(`${root}/node_modules/.bin/tsc`, ['--project', folder])
  expect(stdout).toBe('')
  expect(code).toBe(0)
})

test("the commands of the introduction's first five minutes work", async () => {
  const { baseUrl, key } = await startScene()
  const section = document.info.description.match(/^## First five minutes$(.*?)^## /ms)?.[1] ?? ''
  const blocks = [...section.matchAll(/^```sh$(.*?)^```$/gms)]
    .map(([, block = '']) => block.replace(documentedUrl, baseUrl).replace('apps_YOUR_KEY', key))
    // The last block installs packages.
    .filter((block) => block.includes('curl'))
  const { code, stdout, stderr } = await runSample('curl', blocks.join('\necho\n'), {})
  expect(code, stderr).toBe(0)
  const [list, created, read, updated] = stdout.split('\n').map((line) => JSON.parse(line))
  expect(list.data.apps).toHaveLength(3)
  expect(created).toEqual(JSON.parse(section.match(/^```json$(.*?)^```$/ms)?.[1] ?? ''))
  expect(read.data.app).toMatchObject({ id: created.data.app_id, status: 'pending' })
  expect(updated.data.app).toEqual({
    ...read.data.app,
    short_description: 'Planets, too',
    updated_at: expect.any(String),
  })
})

/** Serves a catalogue with everything that the samples use. The document's examples are about the same app. */
async function startScene(): Promise<Scene> {
  const address = await emptyDatabaseUrl()
  const database = openDatabase(address)
  await database.migrate()
  const key = await database.write(async (connection) => {
    const operator = { operator: 'judge' }
    for (const slug of ['productivity', 'games', 'travel']) await categoryStore(connection).add(slug, slug, operator)
    const developer = await accountStore(connection).findOrAddDeveloper('Harbour Software')
    return (await accountStore(connection).issueKey(developer, operator)).key
  })
  const ours = { description: 'High and low water.', category: 'travel', developer_name: 'Harbour Software' }
  const review = { reviewer_name: 'Ada', rating: 5, comment: 'Right to the minute, every day.' }
  const clock = {
    id: 42,
    name: 'Tide Clock',
    reviews: [
      { ...review, created_at: '2026-05-11T18:22:05Z' },
      { ...review, rating: 4, comment: '', created_at: '2026-04-02T07:01:59Z' },
    ],
  }
  const tables = Array.from({ length: 41 }, (_, index) => ({ id: index + 1, name: `Tide Table ${index + 1}` }))
  const imported = await importLines(
    database,
    [...tables, clock].map((line) => ({ ...ours, status: 'approved', ...line })),
  )
  expect(imported.rejects).toEqual([])
  await database.close()

  // Location and Link have the address, so it must be known before the server listens.
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  return { server: await serve(address, { PORT: String(port), BASE_URL: baseUrl }), baseUrl, key }
}

/** A proxy that runs `before` and then forwards the request. */
async function startProxy(target: string, before: (request: IncomingMessage) => Promise<void>): Promise<string> {
  const proxy = createServer(async (request, response) => {
    await before(request)
    const { method, headers, url } = request
    const onward = forward(target + url, { ...(method && { method }), headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  await new Promise((resolve) => proxy.once('listening', resolve))
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

async function runSample(language: Language, source: string, scene: { baseUrl?: string; key?: string }): Promise<Run> {
  const folder = consumerFolder()
  const file = join(folder, `sample.${languages[language]}`)
  const { baseUrl = documentedUrl, key = '' } = scene
  writeFileSync(file, source.replaceAll(documentedUrl, baseUrl).replaceAll('apps_YOUR_KEY', key))
  return execute(await interpreters[language](), [file])
}

/** The interpreter of each language. Throws with advice if it is missing. */
const interpreters: Record<Language, () => Promise<string>> = {
  TypeScript: async () => process.execPath,
  curl: async () => {
    const { code } = await execute('curl', ['--version'])
    if (code !== 0) throw new Error('The samples need curl; on Debian: apt-get install curl')
    return 'sh'
  },
  Python: async () => {
    for (const python of ['python3', '/usr/bin/python3']) {
      if ((await execute(python, ['-c', 'import requests'])).code === 0) return python
    }
    throw new Error('The samples need Python with requests; on Debian: apt-get install python3-requests')
  },
}

/** A consumer's project, with openapi-fetch installed and openapi.d.ts copied. */
function consumerFolder(): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  symlinkSync(`${import.meta.dirname}/node_modules`, join(folder, 'node_modules'))
  const types = `${root}/generated/openapi.d.ts`
  copyFileSync(types, join(folder, basename(types)))
  return folder
}

/** Runs a program with only PATH from this environment. A missing program exits with 127, as in a shell. */
function execute(program: string, args: string[], env: Record<string, string> = {}): Promise<Run> {
  return new Promise((resolve) => {
    execFile(program, args, { env: { PATH: process.env.PATH, ...env } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : 127, stdout, stderr })
    })
  })
}
