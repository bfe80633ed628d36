import type { Knex } from 'knex'
import { IdSet, idsOf } from './id-set.ts'
import { isWholeAlone, phraseOf } from './tokens.ts'

/**
 * Kept lists: which apps have a word, or a beginning of one, that many have. Reading and joining such lists is what FTS5 takes
 * long for; as bits they are read and joined in a fraction. A list holds what it held when it was made: of the apps that
 * changed since, `app_search_changed` has the ids, and a small index of the same kind, `app_search_recent`, the tokens. What
 * has no list is asked of the whole index, which always holds all.
 */

/** From how many apps on. Of fewer, FTS5 gives the ids in some 3 ms. */
const fewest = 16_384

/** Lists are made where there is one worth it at the least; and again when so many times the apps are there. */
const growth = 1.25

/** Of so many apps one may have changed before the lists are brought up to date. */
const changedShare = 64
const changedLeast = 1000

/** Empty, and in use from the first making on. */
export async function createListTables(sql: Knex, createIndex: (sql: Knex, name: string) => Promise<void>) {
  await createIndex(sql, 'app_search_recent')
  for (const index of ['app_search', 'app_search_recent']) {
    for (const kind of ['row', 'instance']) {
      await sql.raw(`drop table if exists ${index}_${kind}`)
      await sql.raw(`create virtual table ${index}_${kind} using fts5vocab('${index}', '${kind}')`)
    }
  }
  for (const table of ['lists', 'changed', 'state']) await sql.raw(`drop table if exists app_search_${table}`)
  // A list in blocks of ids.
  await sql.raw(
    `create table app_search_lists (phrase text not null, block integer not null, ids blob not null,
       primary key (phrase, block))`,
  )
  await sql.raw('create table app_search_changed (id integer primary key)')
  // One row from the first making on. `listed` is how many apps there were when the lists had all been made.
  await sql.raw(
    `create table app_search_state (version integer not null, making integer not null, changed integer not null,
       most integer not null, listed integer not null)`,
  )
}

/** Takes notice of apps whose documents changed: the rows are those that went into the index. */
export async function follow(sql: Knex, ids: number[], rows?: string) {
  const [state] = await sql.raw(
    'update app_search_state set version = random(), changed = changed + ? returning changed > most as isDue',
    [ids.length],
  )
  if (!state) return
  await sql.raw('insert or ignore into app_search_changed select value from json_each(?)', [JSON.stringify(ids)])
  await (rows === undefined
    ? sql('app_search_recent').whereIn('rowid', ids).delete()
    : insert(sql, 'app_search_recent', rows))
  if (state.isDue) await fold(sql)
}

export const insert = (sql: Knex, index: string, rows: string) =>
  sql.raw(`insert or replace into ${index} (rowid, tokens) select value->>0, value->>1 from json_each(?)`, [rows])

/** Forgets what changed: the lists have it. */
async function settleChanges(sql: Knex) {
  await sql.raw("insert into app_search_recent (app_search_recent) values ('delete-all')")
  await sql('app_search_changed').delete()
  await sql.raw('update app_search_state set changed = 0')
}

/** Brings the lists up to date. A making that is under way notices, and ends. */
async function fold(sql: Knex) {
  const changed = new IdSet(await sql('app_search_changed').pluck('id'))
  const phrases: string[] = await sql('app_search_lists').distinct('phrase').pluck('phrase')
  const recent = new Map(phrases.map((phrase) => [phrase, new IdSet()]))
  await eachPhrase(
    sql,
    'app_search_recent',
    { atLeast: 1, isWanted: (phrase) => recent.has(phrase) },
    async (phrase, ids) => {
      recent.set(phrase, ids)
    },
  )
  const blocks = [...changed.blocks]
  for (const [phrase, added] of recent) {
    const rows: ListRow[] = await sql('app_search_lists').where({ phrase }).whereIn('block', blocks)
    const list = new IdSet()
    for (const { block, ids } of rows) list.addEncoded(block, ids)
    await sql('app_search_lists').where({ phrase }).whereIn('block', blocks).delete()
    await write(sql, phrase, list.drop(changed).join(added))
  }
  await settleChanges(sql)
  await sql.raw('update app_search_state set making = random()')
}

type ListRow = { phrase: string; block: number; ids: Uint8Array }

async function write(sql: Knex, phrase: string, set: IdSet) {
  const rows = [...set.blocks].map((block) => ({ phrase, block, ids: set.encode(block) }))
  if (rows.length > 0) await sql('app_search_lists').insert(rows)
}

type Transactions = {
  /** Several statements that see the same moment. */
  snapshot: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
  write: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
}

/** Makes the lists anew where there are none, or where there are many more apps than when they were made. */
export async function makeListsIfDue(transactions: Transactions, atLeast = fewest) {
  const isDue = await transactions.write(async (sql) => {
    const [{ listed }] = await sql.raw('select coalesce(sum(listed_apps), 0) as listed from categories')
    const [state] = await sql('app_search_state').select('listed')
    return listed >= Math.max(atLeast, (state?.listed ?? 0) * growth)
  })
  if (isDue) await makeLists(transactions, atLeast)
}

/**
 * Makes the lists, a few in each transaction, so that others write meanwhile; each is used as soon as it is there. What
 * changes from the beginning on is taken notice of, and the index is read as it is after that.
 */
export async function makeLists({ snapshot, write: inTransaction }: Transactions, atLeast = fewest) {
  const making = await inTransaction(async (sql) => {
    // random() has more digits than a number: as text it is what it was.
    const [{ listed, making }] = await sql.raw(
      'select coalesce(sum(listed_apps), 0) as listed, cast(random() as text) as making from categories',
    )
    await sql('app_search_lists').delete()
    await sql('app_search_state').delete()
    const most = Math.max(changedLeast, Math.ceil(listed / changedShare))
    await sql('app_search_state').insert({ version: making, making, changed: 0, most, listed: 0 })
    await settleChanges(sql)
    return making
  })
  let waiting: { phrase: string; set: IdSet }[] = []
  let size = 0
  let isOvertaken = false
  const writeWaiting = async () => {
    const lists = waiting
    waiting = []
    size = 0
    isOvertaken ||= await inTransaction(async (sql) => {
      const [current] = await sql.raw('select 1 from app_search_state where making = ?', [making])
      if (!current) return true
      for (const { phrase, set } of lists) await write(sql, phrase, set)
      return false
    })
  }
  await snapshot((sql) =>
    eachPhrase(sql, 'app_search', { atLeast }, async (phrase, set) => {
      waiting.push({ phrase, set })
      size += set.bytes
      if (size > 4 * 1024 * 1024) await writeWaiting()
      return isOvertaken
    }),
  )
  await writeWaiting()
  await inTransaction((sql) =>
    sql.raw('update app_search_state set listed = (select sum(listed_apps) from categories) where making = ?', [
      making,
    ]),
  )
}

/** What tokens begin with, while they are passed in their order: which apps have one, as ids where these are few. */
type Beginning = { text: string; isWanted: boolean; apps: IdSet | number[] }

/** From how many on a set takes less room than ids. */
const many = 500

/** How many places of tokens are read at a time, of how many tokens at most. */
const mostPlaces = 50_000
const mostTokens = 2_000

type Wanted = { atLeast: number; isWanted?: (phrase: string) => boolean }

/**
 * Passes the tokens of an index once, in their order, and calls `note` with each phrase of one token that is wanted and that
 * so many apps or more have, and with their ids, until it says that this is enough.
 */
async function eachPhrase(
  sql: Knex,
  index: string,
  { atLeast, isWanted = () => true }: Wanted,
  note: (phrase: string, ids: IdSet) => Promise<unknown>,
) {
  const open: Beginning[] = []
  const noteIfMany = async (phrase: string, apps: IdSet | number[]) => {
    if (!(apps instanceof IdSet) && apps.length < atLeast) return false
    const set = apps instanceof IdSet ? apps : new IdSet(apps)
    return set.size >= atLeast && (await note(phrase, set)) === true
  }
  const close = async ({ text, isWanted, apps }: Beginning) => isWanted && noteIfMany(phraseOf(text, true), apps)

  for await (const { term, docs, places } of tokensIn(sql, index)) {
    while (open.length > 0 && !term.startsWith(open.at(-1)?.text ?? '')) {
      const beginning = open.pop()
      if (beginning && (await close(beginning))) return
    }
    if (!isWholeAlone(term)) {
      for (const text of beginningsOf(term, open.at(-1)?.text ?? '')) {
        open.push({ text, isWanted: isWanted(phraseOf(text, true)), apps: [] })
      }
    }
    const apps = places < many ? [...idsOf(docs)] : new IdSet(idsOf(docs))
    for (const beginning of open) if (beginning.isWanted) gather(beginning, apps)
    const phrase = phraseOf(term, false)
    if (isWanted(phrase) && (await noteIfMany(phrase, apps))) return
  }
  for (const beginning of open.toReversed()) if (await close(beginning)) return
}

async function* tokensIn(sql: Knex, index: string) {
  for (let last = ''; ; ) {
    const tokens: { term: string; cnt: number }[] = await sql.raw(
      `select term, cnt from ${index}_row where term > ? limit ?`,
      [last, mostTokens],
    )
    let places = 0
    const beyond = tokens.find(({ cnt }) => {
      places += cnt
      return places > mostPlaces
    })
    const upTo = (beyond ?? tokens.at(-1))?.term
    if (upTo === undefined) return
    const lists: { term: string; docs: string; places: number }[] = await sql.raw(
      `select term, group_concat(doc) as docs, count(*) as places from ${index}_instance where term > ? and term <= ? group by term`,
      [last, upTo],
    )
    yield* lists
    last = upTo
  }
}

/** By code points, all that are longer than what is known. */
function beginningsOf(token: string, known: string): string[] {
  let text = known
  return [...token.slice(known.length)].map((character) => {
    text += character
    return text
  })
}

function gather(beginning: Beginning, apps: IdSet | number[]) {
  const had = beginning.apps
  if (had instanceof IdSet) {
    if (apps instanceof IdSet) had.join(apps)
    else for (const id of apps) had.add(id)
  } else if (apps instanceof IdSet) {
    beginning.apps = new IdSet(had).join(apps)
  } else {
    for (const id of apps) had.push(id)
    if (had.length >= many) beginning.apps = new IdSet(had)
  }
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
  sets: Map<string, IdSet>
}

type LookupRow = { kind: string; phrase: string; text: string | null; block: number; list: Uint8Array }

/** Which apps each phrase finds: by its list where it has one. */
export async function lookUp(sql: Knex, phrases: string[], categoryId: number | undefined): Promise<Lookup> {
  const rows: LookupRow[] = await sql.raw(
    `with asked as materialized (
       select value as phrase, exists (select 1 from app_search_lists where phrase = value) as is_kept from json_each(?)
     )
     select 'version' as kind, null as phrase, cast(version as text) as text, null as block, null as list from app_search_state
     union all
     select 'listed', null, cast(sum(listed_apps) as text), null, null from categories where ${categoryId === undefined ? 'true' : 'id = ?'}
     union all
     select 'changed', null, group_concat(id), null, null from app_search_changed
     union all
     select 'found', phrase, (select group_concat(rowid) from app_search where app_search match phrase), null, null
     from asked where not is_kept
     union all
     select 'list', phrase, null, lists.block, lists.ids from asked cross join app_search_lists as lists using (phrase) where is_kept
     union all
     select 'recent', phrase, (select group_concat(rowid) from app_search_recent where app_search_recent match phrase),
       null, null
     from asked where is_kept and exists (select 1 from app_search_changed)`,
    categoryId === undefined ? [JSON.stringify(phrases)] : [JSON.stringify(phrases), categoryId],
  )
  const sets = new Map(phrases.map((phrase) => [phrase, new IdSet()]))
  const of = (kind: string) => rows.filter((row) => row.kind === kind)
  const textOf = (kind: string) => of(kind)[0]?.text ?? undefined
  for (const { phrase, block, list } of of('list')) sets.get(phrase)?.addEncoded(block, list)
  const changed = new IdSet(idsOf(textOf('changed')))
  for (const { phrase, text } of of('recent'))
    sets
      .get(phrase)
      ?.drop(changed)
      .join(new IdSet(idsOf(text)))
  for (const { phrase, text } of of('found')) sets.set(phrase, new IdSet(idsOf(text)))
  return { version: textOf('version'), listed: Number(textOf('listed') ?? 0), sets }
}
