import { required } from '../util/helpers.ts'
import type { Connection, NewRow } from './dialect.ts'

/**
 * Inserts rows, which have the same columns, from a table named `given`, and returns their ids. Rows without an id get greater
 * ones than all rows before.
 */
type Insert = (table: string, rows: NewRow[], condition?: string) => Promise<number[]>

/** The inserts of a connection, by that of its engine. */
export const insertsBy = (insert: Insert): Pick<Connection, 'insertRows' | 'insertUnlessTaken'> => ({
  async insertRows(table, rows) {
    const withoutId = rows.filter(({ id }) => id === undefined).map(({ id, ...row }) => row)
    await insert(
      table,
      rows.filter(({ id }) => id !== undefined),
    )
    const ids = (await insert(table, withoutId)).toSorted((a, b) => a - b).values()
    return rows.map((row) => ({ ...row, id: row.id ?? required(ids.next().value, 'an id') }))
  },
  async insertUnlessTaken(table, row, unique) {
    // A conflict alone would use up an id: https://www.postgresql.org/docs/current/functions-sequence.html
    const isFree = unique.map((column) => `not exists (select 1 from ${table} where ${column} = given.${column})`)
    const [id] = await insert(table, [row], `where ${isFree.join(' and ')} on conflict do nothing`)
    return id
  },
})
