import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import knex from 'knex'

/** What a file holds, told without changing a byte of it: nothing yet, a database of this program, or another's. */
export async function examine(filename: string): Promise<'empty' | 'own' | 'foreign'> {
  // The last connection to close writes the log into the file, but not one that only reads; where there is no log, that one
  // would leave an empty one behind.
  const log = statSync(`${filename}-wal`, { throwIfNoEntry: false })
  const mode = log && log.size > 0 ? 'ro' : 'rw'
  const sql = knex({
    client: 'sqlite3',
    connection: { filename: `${pathToFileURL(filename)}?mode=${mode}`, flags: ['OPEN_URI'] },
    useNullAsDefault: true,
    pool: { min: 0, max: 1 },
    log: { warn() {}, error() {} },
  })
  try {
    await sql.raw('pragma busy_timeout = 5000')
    const rows: { name: string }[] = await sql.raw("select name from sqlite_schema where type = 'table'")
    const tables = new Set(rows.map(({ name }) => name).filter((name) => !name.startsWith('sqlite_')))
    if (tables.isSupersetOf(own)) return 'own'
    return tables.isSubsetOf(begun) ? 'empty' : 'foreign'
  } finally {
    await sql.destroy()
  }
}

/** Others use knex, too. */
const own = new Set(['knex_migrations', 'apps', 'audit'])
/** What knex makes before the first migration, which may have been stopped there. */
const begun = new Set(['knex_migrations', 'knex_migrations_lock'])
