import { expect, test } from 'vitest'
import { IdSet, idsOf } from '../../src/db/sqlite/id-set.ts'

const block = 131_072
const every = (step: number, first = 0, end = 2 * block) =>
  Array.from({ length: Math.ceil((end - first) / step) }, (_, index) => first + index * step)
const inOrder = (set: IdSet) => [...set].toSorted((a, b) => a - b)

const sets: Record<string, number[]> = {
  'no id': [],
  'one id': [7],
  'the ends of blocks': [0, block - 1, block, 2 * block - 1],
  'ids far apart': [1, 500_000, 2_147_483_648, 5_000_000_000],
  'all ids': every(1),
  'every second id': every(2),
  'every eighth id, where gaps and bits take as much': every(8),
  'every ninth id': every(9),
  'every 200th id, whose gaps take two bytes': every(200, 3),
  'one block of two': every(3, block),
}

test.for(Object.entries(sets))('reads a set as it was stored: %s', ([, ids]) => {
  const set = new IdSet(ids)
  const read = new IdSet()
  for (const number of set.blocks) {
    const stored = set.encode(number)
    expect(stored.length).toBeLessThanOrEqual(block / 8)
    read.addEncoded(number, stored)
    expect(read.encode(number)).toEqual(stored)
  }
  expect(inOrder(read).join()).toBe(ids.join())
  expect([read.size, set.size]).toEqual([ids.length, ids.length])
})

test('storing adds to the stored set', () => {
  for (const ids of [every(2, 0, block), every(300, 0, block)]) {
    const set = new IdSet([1, 5_000_000])
    set.addEncoded(0, new IdSet(ids).encode(0))
    expect(inOrder(set).join()).toBe([...new Set([1, ...ids, 5_000_000])].toSorted((a, b) => a - b).join())
  }
})

test('unites, intersects and deletes sets', () => {
  const some = [
    [],
    [7],
    [0, block - 1, block],
    every(3, block, 1.1 * block),
    every(7, 5, block / 10),
    [7, 5_000_000_000],
  ]
  const pairs = some.flatMap((a) => some.map((b) => [a, b] as const))
  for (const [a, b] of pairs) {
    const [left, right] = [new Set(a), new Set(b)]
    const of = new IdSet(b)
    expect(new IdSet(a).join(of).size).toBe(left.union(right).size)
    expect(new IdSet(a).meet(of).size).toBe(left.intersection(right).size)
    expect(new IdSet(a).drop(of).size).toBe(left.difference(right).size)
    expect(of.size).toBe(b.length)
    expect(a.slice(0, 50).filter((id) => of.has(id))).toEqual(a.slice(0, 50).filter((id) => right.has(id)))
  }
})

test('reads ids from the text that SQLite returns', () => {
  const texts: [string | null, number[]][] = [
    [null, []],
    ['7', [7]],
    ['1,22,333,5000000000', [1, 22, 333, 5_000_000_000]],
  ]
  for (const [text, ids] of texts) expect([...idsOf(text)]).toEqual(ids)
})
