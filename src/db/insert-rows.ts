import { required } from '../util/helpers.ts'
import type { Connection, NewRow } from './engine.ts'

/**
 * Makes `insertRows` of an engine's `insert`, which returns the ids in any order. Rows with an id
 * come first, so that the table gives greater ids to the others (https://sqlite.org/autoinc.html).
 * It gives them in ascending order.
 */
export const insertWithIds =
  (insert: (table: string, rows: NewRow[]) => Promise<number[]>): Connection['insertRows'] =>
  async (table, rows) => {
    await insert(
      table,
      rows.filter(({ id }) => id !== undefined),
    )
    const others = rows.filter(({ id }) => id === undefined).map(({ id, ...row }) => row)
    const ids = (await insert(table, others)).toSorted((a, b) => a - b).values()
    return rows.map((row) => ({ ...row, id: row.id ?? required(ids.next().value, 'an id') }))
  }
