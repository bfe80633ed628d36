import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addDemoCatalogue } from '../seeds/demo-catalogue.ts'
import { accountStore } from '../src/accounts/account-store.ts'
import { appStore } from '../src/catalogue/app-store.ts'
import { readConfig } from '../src/config.ts'
import { openDatabase } from '../src/db/database.ts'
import { createApp } from '../src/http/app.ts'
import { createLogger } from '../src/http/log.ts'
import { readDocument } from '../src/http/reference-routes.ts'
import { listen } from '../src/http/server.ts'
import { required } from '../src/util/helpers.ts'

/**
 * Prints the files and functions of src/ that a request enters, measured by V8's precise coverage:
 * how much code one has to read to follow it. The service has handled other requests before, so
 * one-time initialization does not count.
 */

/** An approved app of the demo catalogue. */
const listedApp = 11

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'apps-path-'))
const database = openDatabase(`sqlite:${folder}/apps.sqlite`)
await database.migrate()
await database.write(addDemoCatalogue)
const key = await database.write(async (runner) => {
  const accounts = accountStore(runner)
  const { developer_name } = required(await appStore(runner).find(listedApp), `app ${listedApp}`)
  return (
    await accounts.issueKey(await accounts.findOrAddDeveloper(developer_name), { operator: 'path' })
  ).key
})

const config = { ...readConfig({}), logLevel: 'info' }
const logger = createLogger('info', { write: () => {} })
const document = await readDocument()
const app = await createApp({
  config,
  database,
  document,
  logger,
  isDraining: () => false,
})
const { server, port } = await listen(app, { ...config, port: 0 }, logger)
const session = new Session()
session.connect()
await session.post('Profiler.enable')

type Request = { method: string; path: string; body?: object }

const send = ({ method, path, body }: Request) =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      connection: 'close',
      ...(method !== 'GET' && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  }).then(async (response) => {
    await response.text()
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}`)
  })

/** The functions that ran, by file. */
async function functionsOf(request: Request): Promise<Map<string, string[]>> {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  await session.post('Profiler.takePreciseCoverage')
  await send(request)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const src = join(root, 'src/')
  return new Map(
    result
      .filter(({ url }) => url.startsWith('file:') && fileURLToPath(url).startsWith(src))
      .map(({ url, functions }): [string, string[]] => [
        relative(src, fileURLToPath(url)),
        functions
          .filter(({ ranges }) => ranges[0]?.count !== 0)
          .map(({ functionName }) => functionName || '(anonymous)'),
      ])
      .filter(([, names]) => names.length > 0),
  )
}

const requests: Request[] = [
  { method: 'GET', path: '/apps' },
  { method: 'GET', path: '/apps/7' },
  { method: 'GET', path: '/apps?search=tiles' },
  {
    method: 'POST',
    path: '/apps',
    body: { name: 'Star Map', description: 'The sky.', category_id: 1 },
  },
  {
    method: 'PUT',
    path: `/apps/${listedApp}`,
    body: { name: 'Renamed', description: 'A new text.' },
  },
  { method: 'DELETE', path: `/apps/${listedApp}` },
]
await send({ method: 'GET', path: '/apps/6' })
await send({ method: 'GET', path: '/apps?search=map' })

const isVerbose = process.argv.includes('--functions')
for (const request of requests) {
  const files = await functionsOf(request)
  const functions = [...files.values()].reduce((sum, names) => sum + names.length, 0)
  console.log(`${request.method} ${request.path}: ${files.size} files, ${functions} functions`)
  for (const [file, names] of [...files].toSorted())
    console.log(isVerbose ? `  ${file}: ${names.join(', ')}` : `  ${file}: ${names.length}`)
}

server.close()
await database.close()
rmSync(folder, { recursive: true })
