import { isProgram, load, noPreparation, type Seen, type ServerUnderLoad, spread, told, withServer } from './load.ts'

/** Clients that constantly search for words of many apps, and what other clients see. */

const size = 200_000

/** Prefixes of words that many apps have. */
const words = [...'abdefghiklmnoprstuvw', 'ba', 'ko', 'ti', 'ri', 'ma', 'ne', 'la', 'to', 'vi', 'sa', 'mi', 'simple']

/** All combinations of that many items. */
function choices<T>(some: readonly T[], many: number): T[][] {
  if (many === 0) return [[]]
  return some.flatMap((one, index) => choices(some.slice(index + 1), many - 1).map((rest) => [one, ...rest]))
}

/** Expensive, distinct searches, so that no cache helps. */
const questions = choices(words, 4)
const searches = spread(questions.length, questions.length).map(
  (index) => `/apps?search=${questions[index - 1]?.join('%20')}`,
)

export type Flood = { searches: Seen; byId: Seen; kept: Seen; ready: Seen; afterwards: Seen }

export async function flood({ port }: ServerUnderLoad, clients: number, milliseconds = 10_000): Promise<Flood> {
  const others = otherClients(port, milliseconds)
  const [seen, byId, kept, ready] = await Promise.all([
    load({ port, clients, targets: searches, milliseconds }),
    ...others,
  ])
  const [afterwards] = await Promise.all(otherClients(port, 1000))
  return { searches: seen, byId: byId ?? {}, kept: kept ?? {}, ready: ready ?? {}, afterwards: afterwards ?? {} }
}

/** Reads of different apps, of one cached app, and a probe. */
export const otherClients = (port: number, milliseconds: number): Promise<Seen>[] =>
  [spread(10_000, size).map((id) => `/apps/${id}`), ['/apps/77'], ['/readyz']].map((targets) =>
    load({ port, clients: 2, targets, pause: 10, milliseconds }),
  )

if (isProgram(import.meta.filename)) {
  const [database = '', ...clients] = process.argv.slice(2)
  for (const count of clients.map(Number)) {
    const seen = await withServer(database, noPreparation, (server) => flood(server, count))
    for (const [what, one] of Object.entries(seen)) process.stdout.write(`${count} clients, ${what}: ${told(one)}\n`)
  }
}
