import { accountStore } from '../../src/accounts/store.ts'
import { openDatabase } from '../../src/db/database.ts'
import { moderationStore } from '../../src/moderation/store.ts'
import { isProgram, type ServerUnderLoad, withServer } from './load.ts'

/** Small but expensive requests: how long each blocks the event loop. */

const times = (count: number, one: (index: number) => string, joint = '') =>
  Array.from({ length: count }, (_, index) => one(index)).join(joint)

const marks = ['\u0301', '\u0323', '\u0315', '\u0327']
const ideograph = (index: number) => String.fromCodePoint(0x4e00 + (index % 20_000))

/** Texts of 20,000 characters that were once expensive to index. */
const descriptions = {
  'combining marks': `a${times(19_999, (index) => marks[index % 4] ?? '')}`,
  'Thai marks': `ก${'\u0E38\u0E48'.repeat(9990)}`,
  ideographs: times(20_000, ideograph),
  'a character for eighteen': 'ﷺ'.repeat(20_000),
  'joined words': times(6000, (index) => index.toString(36), '-').slice(0, 20_000),
  families: '👩‍👩‍👧‍👦'.repeat(1800),
  regions: '🇦'.repeat(9990),
  'plain words': times(4000, (index) => index.toString(36), ' ').slice(0, 20_000),
}

/** Milliseconds by request. */
export type Stalls = Record<string, { status: number; stall: number }>

export async function eventLoop(
  { port, longestStall }: ServerUnderLoad,
  { key, id }: OwnedApp,
): Promise<{ refused: Stalls; valid: Stalls }> {
  const send = async (path: string, method = 'GET', body?: string) => {
    await longestStall()
    const headers = { Authorization: `Bearer ${key}`, ...(body && { 'Content-Type': 'application/json' }) }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...(body && { body }) })
    await response.arrayBuffer()
    return { status: response.status, stall: await longestStall() }
  }
  /** The median of several, without the effects of compilation and garbage collection. */
  const stallOf = async (path: string, method?: string, body?: (time: number) => string) => {
    const stalls: { status: number; stall: number }[] = []
    for (let time = 0; time < 9; time++) stalls.push(await send(path, method, body?.(time)))
    return stalls.toSorted((a, b) => a.stall - b.stall)[4] ?? { status: 0, stall: Number.NaN }
  }

  const fields = `{${times(26_000, (index) => `"${index.toString(36)}":1`, ',')}}`
  const lone = '\\ud800'
  const refused = {
    '3,300 unknown parameters': await stallOf(`/apps?${times(3300, (index) => index.toString(36), '&')}`),
    '26,000 unknown fields': await stallOf('/apps', 'POST', () => fields),
    'an array of 100,000': await stallOf('/apps', 'POST', () => `{"name":[${times(100_000, () => '1', ',')}]}`),
    '200,000 brackets': await stallOf('/apps', 'POST', () => '['.repeat(200_000)),
    '250,000 tags': await stallOf('/apps', 'POST', () => JSON.stringify({ name: '\u{E0067}'.repeat(60_000) })),
    '40,000 halves': await stallOf('/apps', 'POST', () => `{"name":"${lone.repeat(40_000)}"}`),
  }
  const valid: Stalls = {}
  for (const [what, description] of Object.entries(descriptions)) {
    // A different text each time, or nothing would change.
    const body = (time: number) => JSON.stringify({ description: `${time}${description}`.slice(0, 20_000) })
    valid[`an update with ${what}`] = await stallOf(`/apps/${id}`, 'PUT', body)
    valid[`a read of ${what}`] = await stallOf(`/apps/${id}`)
  }
  valid['a hundred long apps'] = await stallOf('/apps?limit=100')
  valid['a search of a hundred characters'] = await stallOf(`/apps?search=${encodeURIComponent('a e o d '.repeat(12))}`)
  return { refused, valid }
}

/** An approved app and a key of its developer. */
type OwnedApp = { key: string; id: number }

/** Creates one in a database with approved apps. */
export async function ownedApp(file: string): Promise<OwnedApp> {
  const database = openDatabase(`sqlite:${file}`)
  const owned = await database.write(async (connection) => {
    const actor = { operator: 'test' }
    const accounts = accountStore(connection)
    const developer = await accounts.findOrAddDeveloper('Loop')
    const { key } = await accounts.issueKey(developer, actor)
    const app = await connection.sql('apps').orderBy('approved_at', 'desc').first('id')
    const id = app?.id ?? 0
    await moderationStore(connection).transfer(id, developer.name, actor)
    return { key, id }
  })
  await database.close()
  return owned
}

if (isProgram(import.meta.filename)) {
  const [database = ''] = process.argv.slice(2)
  const { refused, valid } = await withServer(database, ownedApp, eventLoop)
  for (const [what, { status, stall }] of Object.entries({ ...refused, ...valid })) {
    process.stdout.write(`${stall.toFixed(1).padStart(7)} ms  ${status}  ${what}\n`)
  }
}
