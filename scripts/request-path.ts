import { mkdtempSync, rmSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/**
 * Prints the files of src/ that requests of the API, and a decision on the moderation page, enter,
 * in their order: how much code one has to read to follow them; and the files of http/ and
 * moderation-page/ that they enter, leave upwards and enter again. `--functions` also prints the
 * functions. Other requests were handled before, so what happens once does not count.
 */

/** Apps of the demo catalogue: an approved one, and two that wait. */
const listedApp = 11
const pendingApps = { first: 37, second: 38 }

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
const { addModerator } = await import('../src/accounts/moderator-store.ts')
const { findApp } = await import('../src/catalogue/app-store.ts')
const { readConfig } = await import('../src/config.ts')
const { migrate } = await import('../src/db/migrations.ts')
const { openDatabase } = await import('../src/db/open-database.ts')
const { createApp } = await import('../src/http/app.ts')
const { createLogger } = await import('../src/http/log.ts')
const { readDocument } = await import('../src/http/reference-routes.ts')
const { listen } = await import('../src/http/server.ts')
const { createModerationApp } = await import('../src/moderation-page/app.ts')
const { required } = await import('../src/util/helpers.ts')

const folder = mkdtempSync(join(tmpdir(), 'apps-path-'))
const database = openDatabase(`sqlite:${folder}/apps.sqlite`)
await migrate(database)
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

const moderator = await database.write((runner) =>
  addModerator(runner, 'Ada', { operator: 'path' }),
)
const moderationApp = await createModerationApp({
  config,
  database,
  logger,
  account: 'path',
  isDraining: () => false,
})
const page = await listen(moderationApp, { ...config, port: 0 }, logger)

/** Sends a form of the moderation page, and returns the cookie that its response sets. */
async function sendForm(path: string, fields: Record<string, string>, cookie = '') {
  const response = await fetch(`http://127.0.0.1:${page.port}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { connection: 'close', cookie, origin: config.moderation.baseUrl },
    body: new URLSearchParams(fields),
  })
  if (response.status !== 303) throw new Error(`POST ${path} returned ${response.status}`)
  return response.headers.get('set-cookie')?.split(';', 1).join()
}

/** The fields of a form that approves an app, as its page has them. */
async function approvalOf(id: number): Promise<Record<string, string>> {
  const app = required(await database.read((runner) => findApp(runner, id)), `app ${id}`)
  return { app: `${id}@${app.revision}`, seen: '1', decision: 'approve' }
}

/** The functions that the request enters, in their order. */
async function entriesOf(sendRequest: () => Promise<unknown>): Promise<Entry[]> {
  entered.length = 0
  await sendRequest()
  // The log's line follows the response.
  await new Promise((resolve) => setTimeout(resolve, 100))
  return entered.splice(0)
}

/** Receive the body while the steps run, so that their place among these is chance. */
const besideSteps = ['http/connections.ts', 'http/body.ts']

const isStep = (file: string) =>
  /^(http|moderation-page)\//.test(file) && !besideSteps.includes(file)

/**
 * The files of http/ and moderation-page/ that are entered again before the log, which is last: the
 * request has gone back to a file before this one, and then comes a second time.
 */
function findReentries(entries: Entry[]): string[] {
  const files = entries.map(({ file }) => file).filter(isStep)
  const steps = files.slice(0, files.findLastIndex((file) => file !== 'http/log.ts') + 1)
  const visited: string[] = []
  const left = new Set<string>()
  const again = new Set<string>()
  for (const file of steps) {
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

const cookie = await sendForm('/sign-in', { key: moderator.key })
const decide = (fields: Record<string, string>) =>
  sendForm('/decisions?queue=pending', fields, cookie)
await decide(await approvalOf(pendingApps.first))

const isVerbose = process.argv.includes('--functions')

async function printPath(title: string, sendRequest: () => Promise<unknown>) {
  const entries = await entriesOf(sendRequest)
  const files = [...new Set(entries.map(({ file }) => file))]
  console.log(`${title}: ${files.length} files`)
  for (const file of files) {
    const names = new Set(entries.filter((entry) => entry.file === file).map(({ name }) => name))
    console.log(isVerbose ? `  ${file}: ${[...names].join(', ')}` : `  ${file}`)
  }
  console.log(`  re-entries: ${findReentries(entries).join(', ') || 'none'}`)
}

for (const request of requests)
  await printPath(`${request.method} ${request.path}${request.what ?? ''}`, () => send(request))
const approval = await approvalOf(pendingApps.second)
await printPath('POST /decisions on the moderation page', () => decide(approval))

page.server.close()
server.close()
await database.close()
rmSync(folder, { recursive: true })
