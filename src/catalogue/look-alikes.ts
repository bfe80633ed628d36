import { type QueryRunner, readBatches } from '../db/engine.ts'
import { listedCondition } from '../db/listed-apps.ts'
import type { AppRow } from '../db/rows.ts'
import { looksOf } from '../search/fold.ts'
import { lookTokens } from '../search/terms.ts'
import { chunk, yieldBetween } from '../util/helpers.ts'
import { NameMatcher } from './name-matcher.ts'

/**
 * Finds look-alikes: apps, and developers, whose names users could take for another one. They may be
 * imitations.
 */

export type LookAlike = Pick<AppRow, 'id' | 'name' | 'total_downloads'> & {
  developer_name: string
  /** Whether it is listed, or waits, too. */
  status: 'approved' | 'pending'
}

/** Look-alikes returned for an app, at most. */
const maxLookAlikes = 3

/** Apps with the same look that are considered, the oldest ones, at most. */
const maxSameLook = 1000

/** Apps whose look-alikes are found in 200 ms of processor time. More are found in batches. */
const maxCompared = 1000

/**
 * Many ordinary names are alike. Only popular apps are worth imitating: the most downloaded ones, at
 * most so many. The index apps_popular_names has all of this.
 */
const popularApps = `select id, developer_id, name from apps
  where ${listedCondition} and total_downloads >= 10000
  order by total_downloads desc, id limit 20000`

type NamedApp = Pick<AppRow, 'id' | 'developer_id' | 'name'>

/** The apps that may be look-alikes of one. */
type Candidates = { developer_id: number; isPending: boolean; ids: Set<number> }

/** Names that are compared at a time, in a millisecond or two. */
const batchSize = 500

/** Apps that are read at a time. */
const maxRead = 1000

/** Developers per statement. */
const developerBatchSize = 2000

/** An app whose imitations, or originals, are looked for. */
type ComparedApp = Pick<AppRow, 'name' | 'developer_id' | 'status'>

/**
 * For each app in turn, the first apps of other developers that users could take it for, listed ones
 * first and then the most downloaded: listed apps with the same look, popular ones whose names match
 * (`NameMatcher`), and, if it is pending itself, pending ones with the same look.
 */
export async function findLookAlikes(
  runner: QueryRunner,
  apps: ComparedApp[],
): Promise<LookAlike[][]> {
  const lookAlikes: LookAlike[][] = []
  for (const batch of chunk(apps, maxCompared)) lookAlikes.push(...(await findBatch(runner, batch)))
  return lookAlikes
}

async function findBatch(runner: QueryRunner, apps: ComparedApp[]): Promise<LookAlike[][]> {
  const all: Candidates[] = []
  const matcher = new NameMatcher<Candidates>()
  const looking: { token: string; candidates: Candidates }[] = []
  for await (const { name, developer_id, status } of yieldBetween(apps, runner.signal)) {
    const candidates = { developer_id, isPending: status === 'pending', ids: new Set<number>() }
    all.push(candidates)
    const looks = looksOf(name)
    matcher.add(candidates, looks)
    for (const token of lookTokens(looks)) looking.push({ token, candidates })
  }
  const tokens = [...new Set(looking.map(({ token }) => token))]
  const found = await runner.names.oldestWithEach(tokens, maxSameLook)
  const idsByToken = new Map(found.map(({ token, ids }) => [token, ids]))
  for (const { token, candidates } of looking)
    for (const id of idsByToken.get(token) ?? []) candidates.ids.add(id)
  await addPopular(runner, matcher)

  const rows = await readFoundApps(runner, [...new Set(all.flatMap(({ ids }) => [...ids]))])
  return all.map((candidates) => firstOf(rows, candidates))
}

/** Adds the first of the popular apps whose names match to the candidates. */
async function addPopular(runner: QueryRunner, matcher: NameMatcher<Candidates>) {
  const named = await readNames(runner, popularApps)
  const counts = new Map<Candidates, number>()
  for await (const batch of yieldBetween(chunk(named, batchSize), runner.signal)) {
    for (const { id, name, developer_id } of batch) {
      for (const candidates of matcher.findMatches(looksOf(name))) {
        const count = counts.get(candidates) ?? 0
        if (candidates.developer_id === developer_id || count === maxLookAlikes) continue
        candidates.ids.add(id)
        counts.set(candidates, count + 1)
      }
    }
  }
}

/**
 * The apps of a statement, in its order. They are read as one text of lines, which takes both the
 * driver and the database a fraction of the time of many rows. A name has no line breaks.
 */
async function readNames({ rows }: QueryRunner, apps: string): Promise<NamedApp[]> {
  const [found] = await rows<{ lines: string | null }>(
    `select string_agg(id || ' ' || developer_id || ' ' || name, '\n') as lines from (${apps}) as named`,
    [],
  )
  const lines = found?.lines?.split('\n') ?? []
  return lines.map((line) => {
    const first = line.indexOf(' ')
    const second = line.indexOf(' ', first + 1)
    return {
      id: Number(line.slice(0, first)),
      developer_id: Number(line.slice(first, second)),
      name: line.slice(second + 1),
    }
  })
}

type FoundApp = LookAlike & Pick<AppRow, 'developer_id'>

/** The listed and pending apps with these ids, by id. */
async function readFoundApps({ sql }: QueryRunner, ids: number[]): Promise<Map<number, FoundApp>> {
  const found = new Map<number, FoundApp>()
  for (const batch of chunk(ids, maxRead)) {
    const apps = await sql('apps')
      .join('developers', 'developers.id', 'apps.developer_id')
      .whereIn('apps.id', batch)
      .whereNull('deleted_at')
      .select('apps.id', 'apps.name', 'total_downloads', 'status', 'developer_id')
      .select('developers.name as developer_name')
    for (const { status, ...app } of apps)
      if (status !== 'rejected') found.set(app.id, { ...app, status })
  }
  return found
}

/** The first ones of other developers: listed ones, the most downloaded, the oldest. */
const firstOf = (
  found: Map<number, FoundApp>,
  { ids, developer_id: own, isPending }: Candidates,
): LookAlike[] =>
  [...ids]
    .flatMap((id) => found.get(id) ?? [])
    // An original is no look-alike of its imitations.
    .filter(
      ({ developer_id, status }) => developer_id !== own && (isPending || status === 'approved'),
    )
    .sort(
      (a, b) =>
        Number(b.status === 'approved') - Number(a.status === 'approved') ||
        b.total_downloads - a.total_downloads ||
        a.id - b.id,
    )
    .slice(0, maxLookAlikes)
    .map(({ developer_id, ...app }) => app)

/** The names of developers that are look-alikes of a name, in their order. Reads all developers. */
export async function findLookAlikeDevelopers(
  { sql, signal }: QueryRunner,
  name: string,
): Promise<string[]> {
  const matcher = new NameMatcher<string>()
  matcher.add(name, looksOf(name))
  const lookAlikes: string[] = []
  const developers = sql('developers').select('name')
  for await (const batch of readBatches<{ name: string }>(developers, 'name', developerBatchSize)) {
    for await (const { name: other } of yieldBetween(batch, signal)) {
      if (other !== name.trim() && matcher.findMatches(looksOf(other)).size > 0)
        lookAlikes.push(other)
    }
  }
  return lookAlikes
}
