import { required } from '../util/helpers.ts'
import type { EngineQueryRunner, NewRow, QueryRunner } from './engine.ts'

/** Adds the methods to an engine's query runner that are the same on all engines. */

/** Without `markPublicChange`, the runner is for reads. */
export function toQueryRunner(
  runner: EngineQueryRunner,
  markPublicChange: () => void = throwInRead,
): QueryRunner {
  const insert = async (table: string, rows: NewRow[], condition = '') => {
    const inserted = await runner.insert<{ id: number }>(table, rows, `${condition} returning id`)
    return inserted.map(({ id }) => id)
  }
  return {
    ...runner,
    markPublicChange,

    async insertRows(table, rows) {
      // Rows with an id come first, so that the table gives greater ids to the others
      // (https://sqlite.org/autoinc.html). It gives them in ascending order.
      await insert(
        table,
        rows.filter(({ id }) => id !== undefined),
      )
      const others = rows.filter(({ id }) => id === undefined).map(({ id, ...row }) => row)
      const ids = (await insert(table, others)).toSorted((a, b) => a - b).values()
      return rows.map((row) => ({ ...row, id: row.id ?? required(ids.next().value, 'an id') }))
    },

    async insertUnlessTaken(table, row, unique) {
      // A conflict alone would use up an id:
      // https://www.postgresql.org/docs/current/functions-sequence.html
      const isFree = unique.map(
        (column) => `not exists (select 1 from ${table} where ${column} = given.${column})`,
      )
      const condition = `where ${isFree.join(' and ')} on conflict do nothing`
      const [id] = await insert(table, [row], condition)
      return id
    },
  }
}

function throwInRead(): never {
  throw new Error('only a write can change public data')
}
