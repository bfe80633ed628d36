import { findOrAddDeveloper, issueKey } from '../../../src/accounts/account-store.ts'
import { openDatabase } from '../../../src/db/open-database.ts'
import { transferApp } from '../../../src/moderation/decisions.ts'
import { required } from '../../../src/util/helpers.ts'
import type { ServerUnderLoad } from './load.ts'

const repeat = (count: number, item: (index: number) => string, separator = '') =>
  Array.from({ length: count }, (_, index) => item(index)).join(separator)

const marks = ['\u0301', '\u0323', '\u0315', '\u0327']
const ideograph = (index: number) => String.fromCodePoint(0x4e00 + (index % 20_000))

/** Texts of 20,000 characters that were once expensive to index. */
const descriptions = {
  'combining marks': `a${repeat(19_999, (index) => marks[index % 4] ?? '')}`,
  'Thai marks': `ก${'\u0E38\u0E48'.repeat(9990)}`,
  ideographs: repeat(20_000, ideograph),
  'a character for eighteen': 'ﷺ'.repeat(20_000),
  'joined words': repeat(6000, (index) => index.toString(36), '-').slice(0, 20_000),
  families: '👩‍👩‍👧‍👦'.repeat(1800),
  regions: '🇦'.repeat(9990),
  'plain words': repeat(4000, (index) => index.toString(36), ' ').slice(0, 20_000),
}

/** By request, how many milliseconds it blocked the event loop. */
export type Stalls = Record<string, { status: number; stall: number }>

/** Sends requests that are small but expensive. */
export async function measureStalls({
  port,
  file,
  longestStall,
}: ServerUnderLoad): Promise<{ refused: Stalls; valid: Stalls }> {
  const { key, id } = await createOwnedApp(file)
  const send = async (path: string, method = 'GET', body?: string) => {
    await longestStall()
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(body && { 'Content-Type': 'application/json' }),
    }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers,
      ...(body && { body }),
    })
    await response.arrayBuffer()
    return { status: response.status, stall: await longestStall() }
  }
  /** The median of nine, which excludes compilation and garbage collection. */
  const stallOf = async (path: string, method?: string, body?: (time: number) => string) => {
    const stalls: { status: number; stall: number }[] = []
    for (let time = 0; time < 9; time++) stalls.push(await send(path, method, body?.(time)))
    return stalls.toSorted((a, b) => a.stall - b.stall)[4] ?? { status: 0, stall: Number.NaN }
  }

  const fields = `{${repeat(26_000, (index) => `"${index.toString(36)}":1`, ',')}}`
  const lone = '\\ud800'
  const refused = {
    '3,300 unknown parameters': await stallOf(
      `/apps?${repeat(3300, (index) => index.toString(36), '&')}`,
    ),
    '26,000 unknown fields': await stallOf('/apps', 'POST', () => fields),
    'an array of 100,000': await stallOf(
      '/apps',
      'POST',
      () => `{"name":[${repeat(100_000, () => '1', ',')}]}`,
    ),
    '200,000 brackets': await stallOf('/apps', 'POST', () => '['.repeat(200_000)),
    '250,000 tags': await stallOf('/apps', 'POST', () =>
      JSON.stringify({ name: '\u{E0067}'.repeat(60_000) }),
    ),
    '40,000 halves': await stallOf('/apps', 'POST', () => `{"name":"${lone.repeat(40_000)}"}`),
  }
  const valid: Stalls = {}
  for (const [what, description] of Object.entries(descriptions)) {
    // A different text each time, or nothing would change.
    const body = (time: number) =>
      JSON.stringify({ description: `${time}${description}`.slice(0, 20_000) })
    valid[`an update with ${what}`] = await stallOf(`/apps/${id}`, 'PUT', body)
    valid[`a read of ${what}`] = await stallOf(`/apps/${id}`)
  }
  valid['a hundred long apps'] = await stallOf('/apps?limit=100')
  valid['a search of a hundred characters'] = await stallOf(
    `/apps?search=${encodeURIComponent('a e o d '.repeat(12))}`,
  )
  return { refused, valid }
}

/** Gives an approved app to a new developer. Returns its id and a key of the developer. */
async function createOwnedApp(file: string): Promise<{ key: string; id: number }> {
  const database = openDatabase(`sqlite:${file}`)
  const owned = await database.write(async (runner) => {
    const actor = { operator: 'test' }
    const developer = await findOrAddDeveloper(runner, 'Loop')
    const { key } = await issueKey(runner, developer, actor)
    const app = await runner.sql('apps').orderBy('approved_at', 'desc').first('id')
    const { id } = required(app, 'app')
    await transferApp(runner, id, developer.name, actor)
    return { key, id }
  })
  await database.close()
  return owned
}
