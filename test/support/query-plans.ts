import type { Database } from '../../src/db/database.ts'
import type { QueryRunner } from '../../src/db/engine.ts'

type Statement = { sql: string; bindings: (string | number)[] }

/**
 * The result of a read, and SQLite's plans of its statements that select apps, their names or audit
 * entries other than by id.
 */
export async function explainQueries<T>(
  database: Database,
  work: (runner: QueryRunner) => Promise<T>,
) {
  const statements: Statement[] = []
  const record = (statement: Statement) => statements.push(statement)
  const result = await database.read(async (runner) => {
    runner.sql.on('query', record)
    return work(runner).finally(() => runner.sql.removeListener('query', record))
  })
  const plans = await database.read(({ sql }) =>
    Promise.all(
      statements
        .filter((statement) => /from `(apps|audit)` where|select string_agg/.test(statement.sql))
        .map(async (statement) => {
          const rows: { detail: string }[] = await sql.raw(
            `explain query plan ${statement.sql}`,
            statement.bindings,
          )
          return rows.map(({ detail }) => detail).join('; ')
        }),
    ),
  )
  return { result, plans }
}
