import type { Knex } from 'knex'
import type { SchemaHelpers } from '../dialect.ts'
import { createSearchCache, searchIndex } from './search.ts'
import { createListTables } from './search-lists.ts'

export const schema: SchemaHelpers = {
  // BINARY, SQLite's own collation, compares the bytes of UTF-8.
  textType: 'text',

  /**
   * Tokens come cut and folded, so the tokenizer only has to split at spaces: `ascii` takes every character beyond ASCII as it is, and of
   * ASCII the letters, the digits, and what it is told besides.
   * It keeps no text (https://sqlite.org/fts5.html#contentless_delete_tables). Short prefixes have an index of their own:
   * without it a search for one letter merges a quarter of the vocabulary.
   */
  async createSearchIndex(sql) {
    await createIndex(sql, 'app_search')
    await createListTables(sql, createIndex)
    return searchIndex(sql, createSearchCache())
  },

  async upgradeSearchIndex(sql) {
    // Each token in one place, where many writes have left it in several, is looked up in a third of the time.
    await sql.raw("insert into app_search (app_search) values ('optimize')")
    await createListTables(sql, createIndex)
  },

  async makeAppendOnly(sql, table) {
    for (const change of ['update', 'delete']) {
      await sql.raw(
        `create trigger ${table}_refuses_${change} before ${change} on ${table}
         begin select raise(abort, '${table} is append-only'); end`,
      )
    }
  },
}

async function createIndex(sql: Knex, name: string) {
  await sql.raw(`drop table if exists ${name}`)
  await sql.raw(
    `create virtual table ${name} using fts5(tokens,
       content='', contentless_delete=1, tokenize="ascii tokenchars '+#~@=/'", prefix='1 2')`,
  )
}
