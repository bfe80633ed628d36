import { required } from '../util/helpers.ts'
import type { NewRow } from './dialect.ts'

/**
 * Inserts rows by `insert`, which returns the ids of its rows in any order, and returns them with their ids. Rows with an id come
 * first, so that the others get greater ones. A statement gives its rows ascending ids.
 */
export async function insertWithIds<Row extends NewRow>(
  rows: Row[],
  insert: (some: NewRow[]) => Promise<number[]>,
): Promise<(Row & { id: number })[]> {
  await insert(rows.filter(({ id }) => id !== undefined))
  const withoutId = rows.filter(({ id }) => id === undefined).map(({ id, ...row }) => row)
  const ids = (await insert(withoutId)).toSorted((a, b) => a - b).values()
  return rows.map((row) => ({ ...row, id: row.id ?? required(ids.next().value, 'an id') }))
}
