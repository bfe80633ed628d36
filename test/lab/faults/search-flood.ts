import { load, loadOfOtherClients, type ServerUnderLoad, spread } from './load.ts'

/** Prefixes of words that many apps have. */
const words = [
  ...'abdefghiklmnoprstuvw',
  'ba',
  'ko',
  'ti',
  'ri',
  'ma',
  'ne',
  'la',
  'to',
  'vi',
  'sa',
  'mi',
  'simple',
]

/** All combinations of that many items. */
function combinations<T>(items: readonly T[], count: number): T[][] {
  if (count === 0) return [[]]
  return items.flatMap((item, index) =>
    combinations(items.slice(index + 1), count - 1).map((others) => [item, ...others]),
  )
}

/** Expensive, distinct searches, so that no cache helps. */
const searchTexts = combinations(words, 4).map((chosen) => chosen.join('%20'))
const targets = spread(searchTexts.length, searchTexts.length).map(
  (number) => `/apps?search=${searchTexts[number - 1]}`,
)

/** Clients that search constantly, and other clients during and after that. */
export async function flood({ port }: ServerUnderLoad, clients: number) {
  const milliseconds = 10_000
  const [searches, during] = await Promise.all([
    load({ port, clients, targets, milliseconds }),
    loadOfOtherClients(port, milliseconds),
  ])
  const { byId: afterwards } = await loadOfOtherClients(port, 1000)
  return { searches, ...during, afterwards }
}
