import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { required } from '../../src/util/helpers.ts'
import { temporaryFolder } from '../support/database.ts'
import { share } from '../support/lifetime.ts'
import { type Scene, startProxy, startScene } from './scene.ts'
import { execute, findPython, runCommands, typeErrors } from './tools.ts'

/**
 * Generates the clients of docs/clients.md in an empty directory, from the document of a server, and
 * runs the programs there as printed.
 */

const root = `${import.meta.dirname}/../..`
const page = readFileSync(`${root}/docs/clients.md`, 'utf8')

type Guide = {
  language: string
  client: string
  commands: string
  file: string
  program: string
  /** Reads the own apps, and prints them if they have changed. */
  poll: string
  /** The program twice: of a first request, and of one with its ETag. */
  pollTwice: (poll: string) => string
  /** Takes the data of a 304. */
  dataOf304: string
}

/** The commands and the programs of a language. */
function guideFor(
  language: string,
  block: string,
  { client, file, ...others }: Pick<Guide, 'client' | 'file' | 'pollTwice' | 'dataOf304'>,
): Guide {
  const blockOf = (name: string, heading: string) => {
    const section = new RegExp(`^${heading}$(.*?)^##`, 'ms').exec(page)?.[1] ?? ''
    return required(
      new RegExp(`^\`\`\`${name}\\n(.*?)^\`\`\`$`, 'ms').exec(section)?.[1],
      `a block ${name} below ${heading}`,
    )
  }
  expect(page).toContain(file)
  return {
    language,
    client,
    file,
    ...others,
    commands: blockOf('sh', `### ${language}`),
    program: blockOf(block, `### ${language}`),
    poll: blockOf(block, '## Wait for a decision'),
  }
}

const typeScript = guideFor('TypeScript', 'ts', {
  client: 'apps_api.ts',
  file: 'star-map.ts',
  pollTwice: (poll) => `let etag = '""'\nfor (const _ of [1, 2]) {\n${poll}}\n`,
  dataOf304: `dataOf(await client.listOwnApps({ headers: { 'If-None-Match': '*' } }))\n`,
})
const python = guideFor('Python', 'python', {
  client: 'apps_api.py',
  file: 'star_map.py',
  pollTwice: (poll) => `etag = '""'\nfor _ in range(2):\n${poll.replaceAll(/^(?=.)/gm, '    ')}`,
  dataOf304: `data_of(client.list_own_apps(headers={"If-None-Match": "*"}))\n`,
})

/** The address of the server whose document the clients are generated from. */
let documented: string
const generated = new Map<Guide, string>()

share(async () => {
  documented = (await startScene()).baseUrl
  for (const guide of [typeScript, python]) {
    const folder = temporaryFolder()
    await runCommands(guide.commands, folder, { B: documented })
    generated.set(guide, folder)
  }
})

/** A directory with the generated client, which sends its requests to this address. */
function folderFor(guide: Guide, address = documented): string {
  const folder = temporaryFolder()
  cpSync(generated.get(guide) ?? '', folder, { recursive: true })
  const file = join(folder, guide.client)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(documented, address))
  return folder
}

async function runProgram({ file }: Guide, folder: string, program: string, { key }: Scene) {
  const path = join(folder, file)
  writeFileSync(path, program.replace('apps_YOUR_KEY', key))
  return execute(file.endsWith('.py') ? await findPython() : process.execPath, [path])
}

const newApp = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }

describe.each([typeScript, python])('the guide for $language', (guide) => {
  test('lists all pages, creates an app, and puts it back with a change', async () => {
    const scene = await startScene(100)
    const requests: IncomingMessage[] = []
    const proxy = await startProxy(scene.baseUrl, async (request) => {
      requests.push(request)
      return undefined
    })
    const listed = []
    for (const number of [1, 2]) {
      const { body } = await scene.server.request('GET', `/apps?limit=100&page=${number}`)
      listed.push(...body.data.apps)
    }
    expect(listed.length).toBeGreaterThan(100)

    const folder = folderFor(guide, proxy)
    const { code, stdout, stderr } = await runProgram(guide, folder, guide.program, scene)
    expect(code, stderr).toBe(0)
    const lines = stdout.trimEnd().split('\n')
    const id = Number(lines.at(-1)?.split(' ')[0])
    expect(lines).toEqual([...listed.map((app) => `${app.id} ${app.name}`), `${id} Star Map 1.1.0`])

    const [create, read, update] = requests.slice(-3)
    expect([create?.method, read?.method, update?.method]).toEqual(['POST', 'GET', 'PUT'])
    expect(create?.headers['idempotency-key']).toMatch(/^[\da-f-]{36}$/)
    expect(update?.headers['if-match']).toMatch(/^"/)
    const { body } = await scene.server.request('GET', `/apps/${id}`, scene)
    expect(body.data.app).toMatchObject({ ...newApp, version: '1.1.0' })
  })

  test('names every problem of an app that is refused', async () => {
    const scene = await startScene()
    const folder = folderFor(guide, scene.baseUrl)
    const refused = guide.program.replace('Star Map', '').replace(/(category_id(: |=))1\b/, '$10')
    const { code, stderr } = await runProgram(guide, folder, refused, scene)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^body \/name: /m)
    expect(stderr).toMatch(/^body \/category_id: /m)
  })

  test('polls the own apps, and prints them once until one changes', async () => {
    const scene = await startScene()
    const folder = folderFor(guide, scene.baseUrl)
    const program = guide.program + guide.pollTwice(guide.poll)
    const { code, stdout, stderr } = await runProgram(guide, folder, program, scene)
    expect(code, stderr).toBe(0)
    const printed = stdout.match(/^\d+ pending$/gm) ?? []
    expect(printed.length).toBeGreaterThan(0)
    expect(printed).toEqual([...new Set(printed)])
  })

  test('says the status of a response without data and problems', async () => {
    const scene = await startScene()
    const folder = folderFor(guide, scene.baseUrl)
    const { code, stderr } = await runProgram(guide, folder, guide.program + guide.dataOf304, scene)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^(Error: )?status 304$/m)
  })

  test('repeats a create whose response was lost, and creates one app', async () => {
    const scene = await startScene()
    let creates = 0
    const proxy = await startProxy(scene.baseUrl, async ({ method }) =>
      method === 'POST' && creates++ === 0 ? 'lost' : undefined,
    )
    const folder = folderFor(guide, proxy)
    const { code, stderr } = await runProgram(guide, folder, guide.program, scene)
    expect(code, stderr).toBe(0)
    expect(creates).toBe(2)
    const own = await scene.server.request('GET', '/developer/apps?status=pending', scene)
    const names = own.body.data.apps.map(({ name }: { name: string }) => name)
    expect(names.filter((name: string) => name === 'Star Map')).toHaveLength(1)
  })
})

/** Reads apps of each kind, and prints their names. */
const readers = {
  TypeScript: `
import { client } from './apps_api.ts'

client.configure({ auth: { bearer: 'apps_YOUR_KEY' } })
for await (const app of client.listApps.items({ query: { limit: 100 } })) console.log(app.name)
for await (const app of client.listOwnApps.items()) console.log(app.name)
const { data, error } = await client.getApp({ path: { id: 42 } })
if (error) throw new Error(error.message)
console.log(data.data.app.name, data.data.app.reviews.length)
`,
  Python: `
from apps_api import Client

client = Client(auth={"bearer": "apps_YOUR_KEY"})
for app in client.list_apps_items(limit=100):
    print(app.name)
for app in client.list_own_apps_items():
    print(app.name)
app = client.get_app(42).data.data.app
print(app.name, len(app.reviews))
`,
}

test.each([typeScript, python])(
  'a client in $language of the last release reads what has come since',
  async (guide) => {
    const scene = await startScene()
    const json = { keywords: ['tides'], icon_url: 'https://icons.example/tides.png' }
    const { status } = await scene.server.request('PUT', '/apps/42', { key: scene.key, json })
    expect(status).toBe(200)
    const released = readFileSync(`${root}/generated/released.json`, 'utf8')
    const folder = temporaryFolder()
    writeFileSync(
      join(folder, 'released.json'),
      released.replace('"url": "/"', `"url": "${scene.baseUrl}"`),
    )
    await runCommands(guide.commands.replaceAll(/"?\$B\/openapi\.json"?/g, 'released.json'), folder)
    const program = readers[guide.language as keyof typeof readers]
    const { code, stdout, stderr } = await runProgram(guide, folder, program, scene)
    expect(code, stderr).toBe(0)
    const own = await scene.server.request('GET', '/developer/apps?limit=100', scene)
    const all = await scene.server.request('GET', '/apps?limit=100')
    const { app } = (await scene.server.request('GET', '/apps/42', scene)).body.data
    const names = [...all.body.data.apps, ...own.body.data.apps].map(({ name }) => name)
    expect(app).toMatchObject(json)
    expect(stdout.trimEnd().split('\n')).toEqual([...names, `${app.name} ${app.reviews.length}`])
  },
)

test('the guide for TypeScript takes each field of AppChanges out of an app', () => {
  for (const field of Object.keys(document.components.schemas.AppChanges.properties))
    expect(typeScript.program).toContain(`'${field}'`)
})

test('the client in TypeScript has the types of the document, under strict and stricter options', async () => {
  const folder = folderFor(typeScript)
  writeFileSync(
    join(folder, typeScript.file),
    typeScript.program + typeScript.pollTwice(typeScript.poll),
  )
  copyFileSync(`${root}/generated/openapi.d.ts`, join(folder, 'openapi.d.ts'))
  copyFileSync(`${import.meta.dirname}/client-types.ts`, join(folder, 'client-types.ts'))
  const strict = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext']
  const stricter = ['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']
  const options = [...strict, ...stricter, '--allowImportingTsExtensions', '--types', '']
  expect(await typeErrors(folder, ...options, typeScript.file, 'client-types.ts')).toBe('')
})

test('the client in Python has a type for each response', () => {
  const folder = folderFor(python)
  const client = readFileSync(join(folder, python.client), 'utf8')
  expect(client).toContain('-> Result[CategoryListEnvelope, Any]')
  expect(client).not.toContain('-> Result[Any')
})
