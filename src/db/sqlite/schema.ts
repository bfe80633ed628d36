import type { SchemaHelpers } from '../dialect.ts'
import { searchIndex } from './search.ts'

export const schema: SchemaHelpers = {
  /**
   * Tokens come cut and folded, so the tokenizer only has to split at spaces: `ascii` takes every character beyond ASCII as it is, and of
   * ASCII the letters, the digits, and what it is told besides.
   * It keeps no text (https://sqlite.org/fts5.html#contentless_delete_tables). Short prefixes have an index of their own:
   * without it a search for one letter merges a quarter of the vocabulary.
   */
  async createSearchIndex(sql) {
    await sql.raw('drop table if exists app_search')
    await sql.raw(
      `create virtual table app_search using fts5(tokens,
         content='', contentless_delete=1, tokenize="ascii tokenchars '+#~@=/'", prefix='1 2')`,
    )
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
}
