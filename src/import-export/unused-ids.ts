import type { QueryRunner } from '../db/engine.ts'
import { chunk } from '../util/helpers.ts'

/** Ids of a statement. */
const maxIds = 1000

/** The rows without the ids that the table or an earlier row has. */
export async function withUnusedIds<Row extends { id?: number }>(
  { sql }: QueryRunner,
  table: 'apps' | 'categories' | 'reviews',
  rows: Row[],
): Promise<(Omit<Row, 'id'> & { id?: number })[]> {
  const given = rows.flatMap(({ id }) => id ?? [])
  const stored: number[] = []
  // A line may have more reviews than a statement may have values.
  for (const ids of chunk(given, maxIds))
    stored.push(...(await sql<{ id: number }>(table).whereIn('id', ids).pluck('id')))
  const taken = new Set(stored)
  return rows.map(({ id, ...row }) => {
    if (id === undefined || taken.has(id)) return row
    taken.add(id)
    return { ...row, id }
  })
}
