import type { Knex } from 'knex'
import { IdSet, idsOf } from './id-set.ts'
import { write } from './search-lists.ts'
import { isWholeAlone, phraseOf } from './tokens.ts'

/** From how many apps on there is a list. Of fewer, FTS5 gives the ids in some 3 ms. */
export const fewest = 16_384

/** While one of so many apps changes, all lists are brought up to date. */
const changedShare = 64

type Transactions = {
  /** Several statements that see the same moment. */
  snapshot: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
  write: <T>(work: (sql: Knex) => Promise<T>) => Promise<T>
}

export async function countListed(sql: Knex): Promise<number> {
  const counted = await sql('categories').sum({ listed: 'listed_apps' }).first()
  return Number(counted?.listed ?? 0)
}

/** Bytes of sets that wait to be written together. */
const mostWaiting = 4 * 1024 * 1024

/**
 * Makes the lists, some in each transaction, so that others write meanwhile; each is used as soon as it is there. What
 * changes from the beginning on is taken notice of, and the index is read as it is after that. Where somebody else begins
 * to make them, this ends.
 */
export async function makeLists({ snapshot, write: inTransaction }: Transactions, atLeast: number) {
  const making = await inTransaction(begin)
  const waiting: [phrase: string, apps: IdSet][] = []
  let bytes = 0
  let isAlone = true
  const writeWaiting = () =>
    inTransaction(async (sql) => {
      isAlone = (await sql.raw('select 1 from app_search_state where making = ?', [making])).length > 0
      for (const [phrase, apps] of isAlone ? waiting : [])
        await write(sql, 'app_search_lists', phrase, apps, apps.blocks)
      waiting.length = 0
      bytes = 0
    })
  await snapshot(async (sql) => {
    for await (const [phrase, apps] of phrasesOf(sql, atLeast)) {
      waiting.push([phrase, apps])
      bytes += apps.bytes
      if (bytes > mostWaiting) await writeWaiting()
      if (!isAlone) return
    }
  })
  await writeWaiting()
  if (isAlone) await inTransaction((sql) => end(sql, making))
}

/** As text: the number has more digits than one of JavaScript's. */
async function begin(sql: Knex): Promise<string> {
  for (const table of ['lists', 'changed', 'state']) await sql(`app_search_${table}`).delete()
  await sql.raw("insert into app_search_recent (app_search_recent) values ('delete-all')")
  const [{ making }] = await sql.raw(
    `insert into app_search_state (version, making, changes_a_round) values (random(), random(), 1)
     returning cast(making as text) as making`,
  )
  return making
}

async function end(sql: Knex, making: string) {
  const listed = await countListed(sql)
  await sql.raw(
    `update app_search_state
     set listed = ?, lists = (select count(distinct name) from app_search_lists), changes_a_round = ?, changes = 0
     where making = ?`,
    [listed, Math.ceil(listed / changedShare), making],
  )
}

/** What tokens begin with, while they are passed in their order: which apps have one, as ids where these are few. */
type Beginning = { text: string; apps: IdSet | number[] }

/** From how many on a set takes less room than ids. */
const many = 500

/** Each phrase of one token, or its beginning, that so many apps or more have. The index is passed once, in the order of its tokens. */
async function* phrasesOf(sql: Knex, atLeast: number): AsyncGenerator<[phrase: string, apps: IdSet]> {
  const open: Beginning[] = []
  for await (const tokens of tokensIn(sql)) {
    for (const { term, docs, places } of tokens) {
      while (open.length > 0 && !term.startsWith(open.at(-1)?.text ?? '')) yield* closed(open.pop())
      if (!isWholeAlone(term)) open.push(...beginningsOf(term, open.at(-1)?.text ?? ''))
      const apps = places < many ? [...idsOf(docs)] : new IdSet(idsOf(docs))
      for (const beginning of open) gather(beginning, apps)
      yield* ifMany(phraseOf(term, false), apps)
    }
  }
  while (open.length > 0) yield* closed(open.pop())

  function* closed(beginning: Beginning | undefined) {
    if (beginning) yield* ifMany(phraseOf(beginning.text, true), beginning.apps)
  }

  function* ifMany(phrase: string, apps: IdSet | number[]): Generator<[string, IdSet]> {
    if (!(apps instanceof IdSet) && apps.length < atLeast) return
    const set = apps instanceof IdSet ? apps : new IdSet(apps)
    if (set.size >= atLeast) yield [phrase, set]
  }
}

type Token = { term: string; docs: string; places: number }

/** How many places of tokens are read at a time, of how many tokens at most. */
const mostPlaces = 50_000
const mostTokens = 2_000

/** In their order, some at a time. */
async function* tokensIn(sql: Knex): AsyncGenerator<Token[]> {
  for (let last = ''; ; ) {
    const next: { term: string; cnt: number }[] = await sql.raw(
      'select term, cnt from app_search_row where term > ? limit ?',
      [last, mostTokens],
    )
    let places = 0
    const enough = next.find(({ cnt }) => {
      places += cnt
      return places > mostPlaces
    })
    const upTo = (enough ?? next.at(-1))?.term
    if (upTo === undefined) return
    const tokens: Token[] = await sql.raw(
      `select term, group_concat(doc) as docs, count(*) as places from app_search_instance
       where term > ? and term <= ? group by term`,
      [last, upTo],
    )
    yield tokens
    last = upTo
  }
}

/** All that are longer than what is known, by code points. */
function beginningsOf(token: string, known: string): Beginning[] {
  let text = known
  return [...token.slice(known.length)].map((character) => {
    text += character
    return { text, apps: [] }
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
