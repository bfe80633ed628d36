import { isProgram, load, noPreparation, type Seen, type ServerUnderLoad, spread, told, withServer } from './load.ts'

/** Clients that search without end, of words that very many apps have: what others see meanwhile. */

const size = 200_000

/** Beginnings of words that very many apps have. */
const words = [...'abdefghiklmnoprstuvw', 'ba', 'ko', 'ti', 'ri', 'ma', 'ne', 'la', 'to', 'vi', 'sa', 'mi', 'simple']

/** Each choice of so many of some, in their order. */
function choices<T>(some: readonly T[], many: number): T[][] {
  if (many === 0) return [[]]
  return some.flatMap((one, index) => choices(some.slice(index + 1), many - 1).map((rest) => [one, ...rest]))
}

/** Dear ones, and no two that ask the same: no answer that was kept helps, nor what was found before. */
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

/** Reads by id, each of another app; of the same app, which is kept; and a probe. */
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
