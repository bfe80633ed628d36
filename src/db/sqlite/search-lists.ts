import type { Knex } from 'knex'
import { IdSet, idsOf } from './id-set.ts'

/**
 * Kept lists: which apps have a word, or a beginning of words, that many have. To read and join such lists takes FTS5 long; as
 * bits they are read and joined in a fraction of that. A list is as old as it may be: of what changed since, there are the
 * ids, and an index of these apps alone, `app_search_recent`. What has no list is asked of the whole index, which has all.
 */

/** Empty, and not in use before `makeLists`. */
export async function createListTables(sql: Knex, createIndex: (sql: Knex, name: string) => Promise<void>) {
  await createIndex(sql, 'app_search_recent')
  // The vocabulary (https://sqlite.org/fts5.html#the_fts5vocab_virtual_table_module).
  for (const kind of ['row', 'instance']) {
    await sql.raw(`drop table if exists app_search_${kind}`)
    await sql.raw(`create virtual table app_search_${kind} using fts5vocab('app_search', '${kind}')`)
  }
  // Sets of ids, in blocks. Of the lists the name is the phrase that FTS5 would be asked for; of what changed it is a round.
  for (const table of ['app_search_lists', 'app_search_changed']) {
    await sql.raw(`drop table if exists ${table}`)
    await sql.raw(
      `create table ${table} (name text not null, block integer not null, ids blob not null, primary key (name, block))`,
    )
  }
  await sql.raw('drop table if exists app_search_state')
  await sql.raw(
    `create table app_search_state (version integer not null, making integer not null,
       listed integer not null default 0, lists integer not null default 0, changes_a_round integer not null,
       changes integer not null default 0, renewed integer not null default 0, last text not null default '')`,
  )
}

/**
 * What is known of the lists, one row from the first making on. In each round all of them are brought up to date, a few with
 * each change: so none is done at once. `listed` is how many apps there were when the lists were made.
 */
type State = { lists: number; changes_a_round: number; changes: number; renewed: number; last: string }

/** What changed in the round that is going on, and in the one before it. */
const rounds = { now: 'now', before: 'before' }

/** Takes notice of apps whose documents changed: the rows are those that went into the index. */
export async function follow(sql: Knex, ids: number[], rows?: Buffer) {
  const [state]: State[] = await sql.raw(
    'update app_search_state set version = random(), changes = changes + ? returning *',
    [ids.length],
  )
  if (!state) return
  const changed = new IdSet(ids)
  await write(
    sql,
    'app_search_changed',
    rounds.now,
    changed.copy().join(await changedIn(sql, rounds.now)),
    changed.blocks,
  )
  await (rows === undefined ? remove(sql, 'app_search_recent', ids) : insert(sql, 'app_search_recent', rows))
  const due = Math.floor((state.lists * state.changes) / state.changes_a_round) - state.renewed
  if (due >= leastRenewed) await renew(sql, state, due)
}

export const insert = (sql: Knex, index: string, rows: Buffer) =>
  sql.raw(
    `insert or replace into ${index} (rowid, tokens) select value->>0, value->>1 from jsonb_each(cast(? as text))`,
    [rows],
  )

export const remove = (sql: Knex, index: string, ids: number[]) =>
  sql.raw(`delete from ${index} where rowid in (select value from json_each(?))`, [JSON.stringify(ids)])

/** How many lists are brought up to date at a time: one by one takes longer. */
const leastRenewed = 8
const mostRenewed = 64

/** Brings so many lists up to date. After the last of them, what had changed before the round is in all of them. */
async function renew(sql: Knex, { renewed, last }: State, due: number) {
  let [done, after, isEnd] = [renewed, last, false]
  while (!isEnd && done < renewed + due) {
    const wanted = Math.min(mostRenewed, renewed + due - done)
    const phrases: string[] = await sql('app_search_lists')
      .distinct('name')
      .where('name', '>', after)
      .orderBy('name')
      .limit(wanted)
      .pluck('name')
    const { sets, changed } = await lookUp(sql, phrases)
    for (const [phrase, apps] of sets) await write(sql, 'app_search_lists', phrase, apps, changed.blocks)
    done += phrases.length
    after = phrases.at(-1) ?? after
    isEnd = phrases.length < wanted
  }
  if (isEnd) await beginRound(sql)
  else await sql('app_search_state').update({ renewed: done, last: after })
}

async function beginRound(sql: Knex) {
  const known = (await changedIn(sql, rounds.before)).drop(await changedIn(sql, rounds.now))
  await remove(sql, 'app_search_recent', [...known])
  await sql('app_search_changed').where({ name: rounds.before }).delete()
  await sql('app_search_changed').update({ name: rounds.before })
  await sql('app_search_state').update({ changes: 0, renewed: 0, last: '' })
}

async function changedIn(sql: Knex, round: string): Promise<IdSet> {
  const set = new IdSet()
  const rows: BlockRow[] = await sql('app_search_changed').where({ name: round })
  for (const { block, ids } of rows) set.addEncoded(block, ids)
  return set
}

type BlockRow = { name: string; block: number; ids: Uint8Array }

/** Writes some blocks of a set in the place of what is there. */
export async function write(sql: Knex, table: string, name: string, set: IdSet, blocks: Iterable<number>) {
  const rows = [...blocks].map((block) => ({ name, block, ids: set.encode(block) }))
  const full = rows.filter(({ ids }) => ids.length > 0)
  const empty = rows.filter(({ ids }) => ids.length === 0).map(({ block }) => block)
  if (full.length > 0) await sql(table).insert(full).onConflict(['name', 'block']).merge()
  if (empty.length > 0) await sql(table).where({ name }).whereIn('block', empty).delete()
}

/** What version the index has, as this connection sees it; undefined where no lists were made. */
export async function versionOf(sql: Knex): Promise<string | undefined> {
  const [row] = await sql.raw('select cast(version as text) as version from app_search_state')
  return row?.version
}

/** All of one moment. */
type Lookup = {
  version: string | undefined
  /** How many apps are listed, in the category where there is one. */
  listed: number
  /** Which apps each phrase finds. */
  sets: Map<string, IdSet>
  /** Of which apps a list may not be right. */
  changed: IdSet
}

type LookupRow = { kind: string; name: string; text: string | null; block: number; ids: Uint8Array }

/** Which apps each phrase finds: by its list where it has one. */
export async function lookUp(sql: Knex, phrases: string[], categoryId?: number): Promise<Lookup> {
  const isCounted = categoryId === undefined ? 'true' : 'id = ?'
  const rows: LookupRow[] = await sql.raw(
    `with asked as materialized (
       select value as name, exists (select 1 from app_search_lists where name = value) as is_kept from json_each(?)
     )
     select 'version' as kind, null as name, cast(version as text) as text, null as block, null as ids
     from app_search_state
     union all
     select 'listed', null, cast(sum(listed_apps) as text), null, null from categories where ${isCounted}
     union all
     select 'list', name, null, block, ids from asked cross join app_search_lists using (name) where is_kept
     union all
     select 'changed', name, null, block, ids from app_search_changed
     union all
     select 'recent', name, (select group_concat(rowid) from app_search_recent where app_search_recent match name), null, null
     from asked where is_kept and exists (select 1 from app_search_changed)
     union all
     select 'found', name, (select group_concat(rowid) from app_search where app_search match name), null, null
     from asked where not is_kept`,
    [JSON.stringify(phrases), ...(categoryId === undefined ? [] : [categoryId])],
  )
  const of = (kind: string) => rows.filter((row) => row.kind === kind)
  const textOf = (kind: string) => of(kind)[0]?.text ?? undefined
  const sets = new Map(phrases.map((phrase) => [phrase, new IdSet()]))
  const changed = new IdSet()
  for (const { block, ids } of of('changed')) changed.addEncoded(block, ids)
  for (const { name, block, ids } of of('list')) sets.get(name)?.addEncoded(block, ids)
  for (const { name, text } of of('recent')) {
    const recent = new IdSet(idsOf(text))
    sets.get(name)?.drop(changed).join(recent)
  }
  for (const { name, text } of of('found')) sets.set(name, new IdSet(idsOf(text)))
  return { version: textOf('version'), listed: Number(textOf('listed') ?? 0), sets, changed }
}
