import { mkdtempSync, rmSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/**
 * Prints the files of src/ that a request enters, in their order: how much code one has to read to
 * follow it; and the files of http/ that it enters, leaves upwards and enters again. `--functions`
 * also prints the functions. The service has handled other requests before, so what happens once
 * does not count.
 */

/** An approved app of the demo catalogue. */
const listedApp = 11

const src = join(import.meta.dirname, '../src/')

type Entry = { file: string; name: string }
/** The functions that were entered, in their order. */
const entered: Entry[] = []
const enter = (file: string, name: string) => entered.push({ file, name })
Object.assign(globalThis, { enter })

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    const path = url.startsWith('file:') ? fileURLToPath(url) : ''
    if (!path.startsWith(src) || !path.endsWith('.ts')) return loaded
    return { ...loaded, source: withEntries(relative(src, path), String(loaded.source)) }
  },
})

/** The code with a call of `enter` at the beginning of each function. */
function withEntries(file: string, code: string): string {
  const insertions: { at: number; text: string }[] = []
  const visit = (node: ts.Node) => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const call = `enter(${JSON.stringify(file)}, ${JSON.stringify(nameOf(node))})`
      if (ts.isBlock(node.body)) {
        insertions.push({ at: node.body.getStart() + 1, text: `${call};` })
      } else {
        insertions.push({ at: node.body.getStart(), text: `(${call}, ` })
        insertions.push({ at: node.body.getEnd(), text: ')' })
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true))
  return insertions
    .toSorted((one, other) => other.at - one.at)
    .reduce((text, { at, text: added }) => text.slice(0, at) + added + text.slice(at), code)
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (node.name) return node.name.getText()
  const { parent } = node
  return ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent)
    ? parent.name.getText()
    : '(anonymous)'
}

const { addDemoCatalogue } = await import('../seeds/demo-catalogue.ts')
const { findOrAddDeveloper, issueKey } = await import('../src/accounts/account-store.ts')
const { findApp } = await import('../src/catalogue/app-store.ts')
const { readConfig } = await import('../src/config.ts')
const { openDatabase } = await import('../src/db/database.ts')
const { createApp } = await import('../src/http/app.ts')
const { createLogger } = await import('../src/http/log.ts')
const { readDocument } = await import('../src/http/reference-routes.ts')
const { listen } = await import('../src/http/server.ts')
const { required } = await import('../src/util/helpers.ts')

const folder = mkdtempSync(join(tmpdir(), 'apps-path-'))
const database = openDatabase(`sqlite:${folder}/apps.sqlite`)
await database.migrate()
await database.write(addDemoCatalogue)
const key = await database.write(async (runner) => {
  const { developer_name } = required(await findApp(runner, listedApp), `app ${listedApp}`)
  return (
    await issueKey(runner, await findOrAddDeveloper(runner, developer_name), { operator: 'path' })
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

type Request = { what?: string; method: string; path: string; body?: object }

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
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}`)
    // biome-ignore lint/suspicious/noExplicitAny: the responses of several operations
    const { data }: any = await response.json()
    return data
  })

/** The functions that the request enters, in their order. */
async function entriesOf(request: Request): Promise<Entry[]> {
  entered.length = 0
  await send(request)
  // The log's line follows the response.
  await new Promise((resolve) => setTimeout(resolve, 100))
  return entered.splice(0)
}

/** Receive the body while the steps run, so that their place among these is chance. */
const besideSteps = ['http/connections.ts', 'http/body.ts']

/**
 * The files of http/ that are entered again before the response is sent: the request has gone back
 * to a file before this one, and then comes a second time.
 */
function findReentries(entries: Entry[]): string[] {
  const last = entries.findLastIndex(({ file }) => file === 'http/response.ts')
  const steps = entries.slice(0, last).map(({ file }) => file)
  const visited: string[] = []
  const left = new Set<string>()
  const again = new Set<string>()
  for (const file of steps) {
    if (!file.startsWith('http/') || besideSteps.includes(file)) continue
    if (left.has(file)) again.add(file)
    if (!visited.includes(file)) visited.push(file)
    for (const later of visited.slice(visited.indexOf(file) + 1)) left.add(later)
  }
  return [...again]
}

const requests: Request[] = [
  { method: 'GET', path: '/apps' },
  { method: 'GET', path: '/apps/7' },
  { what: ', cached', method: 'GET', path: '/apps/7' },
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
const body = { name: 'Sun Map', description: 'The sun.', category_id: 1 }
await send({ method: 'POST', path: '/apps', body })
const { app_id } = await send({ method: 'POST', path: '/apps', body })
await send({ method: 'PUT', path: `/apps/${app_id}`, body })
await send({ method: 'DELETE', path: `/apps/${app_id}` })

const isVerbose = process.argv.includes('--functions')
for (const request of requests) {
  const entries = await entriesOf(request)
  const files = [...new Set(entries.map(({ file }) => file))]
  console.log(`${request.method} ${request.path}${request.what ?? ''}: ${files.length} files`)
  for (const file of files) {
    const names = new Set(entries.filter((entry) => entry.file === file).map(({ name }) => name))
    console.log(isVerbose ? `  ${file}: ${[...names].join(', ')}` : `  ${file}`)
  }
  console.log(`  re-entries: ${findReentries(entries).join(', ') || 'none'}`)
}

server.close()
await database.close()
rmSync(folder, { recursive: true })
