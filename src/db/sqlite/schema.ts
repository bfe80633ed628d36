import type { SchemaHelpers } from '../dialect.ts'
import { searchIndex } from './search.ts'

export const schema: SchemaHelpers = {
  // BINARY, SQLite's own collation, compares the bytes of UTF-8.
  textType: 'text',

  /**
   * Tokens are already cut and folded, so the tokenizer only splits at spaces: `ascii` takes every character beyond ASCII as it
   * is, and of ASCII the letters, the digits, and `tokenchars`. The index keeps no text
   * (https://sqlite.org/fts5.html#contentless_delete_tables). `prefix` makes searches for a few letters quick.
   */
  async createSearchIndex(sql) {
    // Of versions before 2.0.0.
    const former = [
      'app_search_recent',
      'app_search_row',
      'app_search_instance',
      'app_search_lists',
      'app_search_changed',
    ]
    for (const table of [...former, 'app_search_state', 'app_search_apps', 'app_search']) {
      await sql.raw(`drop table if exists ${table}`)
    }
    await sql.raw(
      `create virtual table app_search using fts5(tokens,
         content='', contentless_delete=1, tokenize="ascii tokenchars '+#~@=/'", prefix='1 2 3')`,
    )
    await sql.raw(
      'create table app_search_apps (app_id integer primary key, rank integer not null, name_words text not null)',
    )
    await sql.raw('create table app_search_words (word text primary key) without rowid')
    return searchIndex(sql)
  },

  async makeAppendOnly(sql, table) {
    for (const change of ['update', 'delete']) {
      await sql.raw(
        `create trigger ${table}_refuses_${change} before ${change} on ${table}
         begin select raise(abort, '${table} is append-only'); end`,
      )
    }
  },

  /** SQLite has no statement for this. Its way for changes that affect no row: https://sqlite.org/lang_altertable.html#otheralter */
  async dropConstraints(sql, table, { checks, foreignKeys }) {
    const clauses = [
      ...Object.entries(checks).map(([name, condition]) => `, constraint ${name} check (${condition})`),
      ...Object.entries(foreignKeys).map(([column, to]) => `, foreign key(\`${column}\`) references \`${to}\`(\`id\`)`),
    ]
    let [{ definition }] = await sql('sqlite_schema').where({ type: 'table', name: table }).select('sql as definition')
    for (const clause of clauses) {
      if (!definition.includes(clause)) throw new Error(`the table ${table} lacks: ${clause}`)
      definition = definition.replace(clause, '')
    }
    const [{ schema_version }] = await sql.raw('pragma schema_version')
    await sql.raw('pragma writable_schema = on')
    await sql.raw(`update sqlite_schema set sql = ? where type = 'table' and name = ?`, [definition, table])
    await sql.raw(`pragma schema_version = ${schema_version + 1}`)
    await sql.raw('pragma writable_schema = off')
  },
}
