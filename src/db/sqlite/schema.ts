import { idLimit } from '../../search/terms.ts'
import type { SchemaHelpers } from '../tools.ts'
import { queryRunnerOf } from './query-runner.ts'

export const schema: SchemaHelpers = {
  /**
   * Tokens are already cut and folded, so the tokenizer only splits at spaces: `ascii` takes every
   * character beyond ASCII as it is, and of ASCII the letters, the digits, and `tokenchars`. The
   * index keeps no text (https://sqlite.org/fts5.html#contentless_delete_tables). `prefix` makes
   * searches for a few letters quick.
   */
  async createSearchIndex(sql, fill) {
    for (const table of ['app_search', 'app_names', 'app_search_apps', 'app_search_words'])
      await sql.schema.dropTableIfExists(table)
    const tokenizer = `tokenize="ascii tokenchars '+#~@=/%_'"`
    await sql.raw(
      `create virtual table app_search using fts5(tokens,
         content='', contentless_delete=1, ${tokenizer}, prefix='1 2 3')`,
    )
    await sql.raw(
      `create virtual table app_names using fts5(tokens,
         content='', contentless_delete=1, ${tokenizer}, detail=none)`,
    )
    await sql.raw(
      `create table app_search_apps (
         app_id integer primary key check (app_id < ${idLimit}), rank integer not null, name_words text not null)`,
    )
    await sql.raw('create table app_search_words (word text primary key) without rowid')
    // FTS5 merges 8 segments at a time, not 4: indexing an app again takes a third less, with as
    // many segments for searches.
    await sql.raw(`insert into app_search (app_search, rank) values ('automerge', 8)`)
    // A batch of an import becomes one segment of the index instead of several: 5 % less time for
    // the index of 200,000 apps. In bytes.
    await sql.raw(`insert into app_search (app_search, rank) values ('hashsize', 8388608)`)
    await fill(queryRunnerOf(sql))
    // Merges the segments, which halves the time of most searches.
    await sql.raw(`insert into app_search (app_search) values ('optimize')`)
  },

  async makeAppendOnly(sql, table) {
    const changes = {
      update: '',
      delete: '',
      // `insert or replace` deletes without the trigger for deletes
      // (https://sqlite.org/lang_conflict.html). Generated ids are -1 here.
      insert: `when exists (select 1 from ${table} where id = new.id)`,
    }
    for (const [change, condition] of Object.entries(changes)) {
      await sql.raw(
        `create trigger ${table}_refuses_${change} before ${change} on ${table} ${condition}
         begin select raise(abort, '${table} is append-only'); end`,
      )
    }
  },
}
