import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import type { OperationId } from '../../src/contract/contract.ts'
import { documentedUrl } from '../../src/http/reference-routes.ts'
import { required } from '../../src/util/helpers.ts'
import { operationsOf } from '../contract/operations.ts'
import { temporaryFolder } from '../support/database.ts'
import type { Run } from '../support/process.ts'
import { type Scene, startProxy, startScene } from './scene.ts'
import { execute, findPython, runCommands, typeErrors } from './tools.ts'

/**
 * Runs the document's samples as copied from the pages of a server with the catalogue of `make
 * run`. The server inserts its own address; the reader inserts the key that `make run` prints.
 */

const languages = { curl: 'sh', TypeScript: 'ts', Python: 'py' } as const
type Language = keyof typeof languages

const { description } = document.info
const firstMinutes = required(
  /^## First five minutes$(.*?)^## /ms.exec(description)?.[1],
  'the first five minutes',
)
const shellBlocks = [...firstMinutes.matchAll(/^```sh$(.*?)^```$/gms)].map(
  ([, block = '']) => block,
)
/** The last block generates the client for the samples. */
const preparation = required(shellBlocks.pop(), 'a block of commands')

/** A directory prepared by these commands. */
let prepared: string

beforeAll(async () => {
  prepared = mkdtempSync(join(tmpdir(), 'apps-samples-'))
  const served = { ...document, servers: [{ url: documentedUrl }] }
  writeFileSync(join(prepared, 'openapi.json'), JSON.stringify(served))
  await runCommands(preparation.replace(`${documentedUrl}/openapi.json`, 'openapi.json'), prepared)
  return () => rmSync(prepared, { recursive: true })
})

type Operation = { operationId: string; 'x-codeSamples': { label: string; source: string }[] }
const operations = Object.values(document.paths).flatMap((path) => Object.values<Operation>(path))

type Expectation = {
  answer: (scene: Scene) => Promise<unknown>
  lines: (scene: Scene) => Promise<string[]>
}

/** The output of the curl sample and the lines of the others, with checks of their effect. */
const expectations: Record<OperationId, Expectation> = {
  listApps: {
    answer: async ({ server }) => {
      const { body } = await server.request('GET', '/apps?search=tide+table&sort=rating&limit=20')
      expect([body.message, namesOf(body)]).toEqual([
        'After the first 2 apps, only some words match. Page 1 of 1.',
        ['Tide & Time', 'Ebb & Flood', 'PDFBinder'],
      ])
      return body
    },
    lines: async ({ server }) => {
      const { body } = await server.request('GET', '/apps?search=tide&limit=100')
      expect([body.message, namesOf(body)]).toEqual([
        'Page 1 of 1.',
        expect.arrayContaining(['Tide & Time']),
      ])
      return linesOf(body)
    },
  },
  getApp: {
    answer: async ({ server }) => (await server.request('GET', '/apps/42')).body,
    lines: async () => [
      'Tide & Time 4.5',
      '4 Clear at a glance. I would like a larger dial.',
      '5 Right to the minute, every day.',
    ],
  },
  createApp: {
    answer: async (scene) => {
      await expectCreated(scene)
      const data = { app_id: 101, slug: 'cloud-atlas', status: 'pending' }
      return { success: true, message: 'App created; it awaits admin approval.', data }
    },
    lines: async (scene) => {
      await expectCreated(scene)
      return ['101 pending']
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
    answer: async (scene) => {
      await expectDeleted(scene)
      return { success: true, message: 'App deleted.', data: { app_id: 57 } }
    },
    lines: async (scene) => {
      await expectDeleted(scene)
      return ['57 App deleted.']
    },
  },
  listCategories: {
    answer: async ({ server }) => {
      const { body } = await server.request('GET', '/categories')
      expect(body.data.categories).toContainEqual({
        id: 3,
        slug: 'travel',
        name: 'Travel',
        app_count: expect.any(Number),
      })
      return body
    },
    lines: async ({ server }) => {
      const { body } = await server.request('GET', '/categories')
      return body.data.categories.map((one: Category) => `${one.slug} ${one.app_count}`)
    },
  },
  listOwnApps: {
    answer: async ({ server, key }) => {
      const { body } = await server.request('GET', '/developer/apps?status=rejected', { key })
      expect(namesOf(body)).toEqual(['Super Cleaner MAX!!!'])
      return body
    },
    lines: async ({ server, key }) => {
      const { body } = await server.request('GET', '/developer/apps?status=rejected', { key })
      return body.data.apps.map((one: OwnApp) => `${one.name} ${one.rejection_reason}`)
    },
  },
}

type Category = { slug: string; app_count: number }
type OwnApp = { name: string; rejection_reason: string }
type ListBody = { data: { apps: { id: number; name: string }[] } }
const namesOf = ({ data }: ListBody) => data.apps.map(({ name }) => name)
const linesOf = ({ data }: ListBody) => data.apps.map(({ id, name }) => `${id} ${name}`)

async function expectCreated({ server, key }: Scene) {
  expect((await server.request('GET', '/apps/101', { key })).body.data.app).toMatchObject({
    name: 'Cloud Atlas',
    description: 'Names the clouds above you.',
    category_slug: 'travel',
    status: 'pending',
  })
}

async function expectDeleted({ server }: Scene) {
  const { body } = await server.request('GET', '/apps?category=tools&search=garden')
  expect(namesOf(body)).not.toContain('Git Garden')
}

const samples = operations.flatMap((operation) =>
  operation['x-codeSamples'].map(({ label, source }) => ({
    // The JSON's type knows neither the ids nor the labels, which the linter requires.
    operationId: operation.operationId as OperationId,
    language: label as Language,
    source,
  })),
)
type Sample = (typeof samples)[number]

test.for(Object.keys(languages))(
  'the samples in %s do what they say, one after the other',
  async (language) => {
    const scene = await startScene()
    for (const sample of samples.filter((one) => one.language === language))
      await expectWorking(sample, scene)
  },
)

async function expectWorking({ operationId, language, source }: Sample, scene: Scene) {
  const count = () =>
    loggedRequests(scene).filter(({ operation }) => operation === operationId).length
  const before = count()
  const { code, stdout, stderr } = await runSample(language, source, scene)
  expect(code, `${operationId}: ${stderr}`).toBe(0)
  await expect.poll(count).toBeGreaterThan(before)
  expect(loggedRequests(scene).filter(({ res }) => res.statusCode >= 400)).toEqual([])
  expect(stdout).toMatch(
    language === 'curl' ? /^{"success":true,/ : /^(?!.*(undefined|None|NaN|\[object)).+\n/s,
  )
  const { answer, lines } = expectations[operationId]
  if (language === 'curl') expect(JSON.parse(stdout)).toEqual(await answer(scene))
  else expect(stdout.trimEnd().split('\n')).toEqual(await lines(scene))
}

test.for(
  samples.filter(({ operationId, language }) => operationId === 'listApps' && language !== 'curl'),
)('$operationId in $language reads all pages', async ({ language, source }) => {
  const scene = await startScene(41)
  const { stdout } = await runSample(language, source, scene)
  const { body } = await scene.server.request('GET', '/apps?search=tide&limit=100')
  expect(stdout.trimEnd().split('\n')).toEqual(linesOf(body))
  expect(body.data.apps.length).toBeGreaterThan(41)
})

test('the example of each filter finds apps, without corrections', async () => {
  const { server, key } = await startScene()
  const filters = operationsOf(document).flatMap(({ path, parameters }) =>
    parameters
      // A page is no filter, and one list has only one.
      .filter((parameter) => parameter.in === 'query' && parameter.name !== 'page')
      .map(({ name, example }) => `${path}?${new URLSearchParams({ [name]: String(example) })}`),
  )
  for (const filter of filters) {
    const { body } = await server.request('GET', filter, { key })
    expect([filter, body.message]).toEqual([filter, expect.stringMatching(/^Page \d+ of [1-9]/)])
    expect([filter, body.data.apps]).not.toEqual([filter, []])
  }
})

const loggedRequests = ({ server }: Scene) =>
  server.log.map((line) => JSON.parse(line)).filter(({ res }) => res)

/** Programs that run each file of a directory, and print how it ended. */
const runEach = {
  TypeScript: `import { readdirSync } from 'node:fs'
for (const file of readdirSync('samples'))
  await import('./samples/' + file).then(() => console.log(file, 'ended'), (error) => console.log(file, error.message))`,
  Python: `import os, runpy
for file in os.listdir('samples'):
    try:
        runpy.run_path('samples/' + file)
        print(file, 'ended')
    except BaseException as error:
        print(file, error)`,
}

test.for(['TypeScript', 'Python'] as const)(
  'the samples in %s report an error response',
  async (language) => {
    const { baseUrl } = await startScene()
    const folder = consumerFolder(`${baseUrl}/nowhere`)
    const own = samples.filter((one) => one.language === language)
    mkdirSync(join(folder, 'samples'))
    for (const { operationId, source } of own)
      writeFileSync(
        join(folder, 'samples', `${operationId}.${languages[language]}`),
        source.replaceAll('./apps_api.ts', '../apps_api.ts'),
      )
    const program = join(folder, `run-each.${languages[language]}`)
    writeFileSync(program, runEach[language])
    const { stdout, stderr } = await execute(await interpreters[language](), [program], folder)
    const lines = stdout.trimEnd().split('\n')
    expect(lines, stderr).toHaveLength(own.length)
    for (const line of lines) expect(line).toMatch(/This path does not exist|404/)
  },
)

test.for(samples.filter(({ operationId }) => operationId === 'updateApp'))(
  '$operationId in $language changes nothing if the app has changed since it was read',
  async ({ language, source }) => {
    const scene = await startScene()
    const { server, key } = scene
    const baseUrl = await startProxy(scene.baseUrl, async ({ method }) => {
      if (method === 'PUT')
        await server.request('PUT', '/apps/42', { key, json: { version: '3.0.0' } })
      return undefined
    })
    const { stdout, stderr } = await runSample(language, source, { ...scene, baseUrl })
    expect(stdout + stderr).toMatch(/The app has changed since you read it|412/)
    expect((await server.request('GET', '/apps/42')).body.data.app.version).toBe('3.0.0')
  },
)

test('the TypeScript samples compile under strict with the client from the introduction', async () => {
  const folder = consumerFolder(documentedUrl)
  for (const { operationId, language, source } of samples) {
    if (language === 'TypeScript') writeFileSync(join(folder, `${operationId}.ts`), source)
  }
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    module: 'nodenext',
    allowImportingTsExtensions: true,
    types: [],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  expect(await typeErrors(folder)).toBe('')
})

test("the commands of the introduction's first five minutes work", async () => {
  const { baseUrl, key } = await startScene()
  const blocks = shellBlocks.map((block) =>
    block.replace(documentedUrl, baseUrl).replace('apps_YOUR_KEY', key),
  )
  const { code, stdout, stderr } = await runSample('curl', blocks.join('\necho\n'), {})
  expect(code, stderr).toBe(0)
  const [list, categories, created, read, updated] = stdout
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(list.data.apps).toHaveLength(3)
  expect(categories.data.categories.map(({ id }: { id: number }) => id)).toContain(1)
  expect(created).toEqual(JSON.parse(firstMinutes.match(/^```json$(.*?)^```$/ms)?.[1] ?? ''))
  expect(read.data.app).toMatchObject({ id: created.data.app_id, status: 'pending' })
  expect(updated.data.app).toEqual({
    ...read.data.app,
    short_description: 'Planets, too',
    updated_at: expect.any(String),
  })
})

async function runSample(
  language: Language,
  source: string,
  scene: { baseUrl?: string; key?: string },
): Promise<Run> {
  const { baseUrl = documentedUrl, key = '' } = scene
  const folder = consumerFolder(baseUrl)
  const file = join(folder, `sample.${languages[language]}`)
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
  Python: findPython,
}

/** A consumer's project, as the introduction prepares it with a server. */
function consumerFolder(baseUrl: string): string {
  const folder = temporaryFolder()
  cpSync(prepared, folder, { recursive: true })
  for (const client of ['apps_api.ts', 'apps_api.py'].map((name) => join(folder, name)))
    writeFileSync(client, readFileSync(client, 'utf8').replaceAll(documentedUrl, baseUrl))
  return folder
}
