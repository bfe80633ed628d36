import { expect, onTestFinished, test } from 'vitest'
import { type AppListQuery, findApps } from '../../src/catalogue/app-list.ts'
import { appStore, type NewAppRow } from '../../src/catalogue/store.ts'
import { type Database, openDatabase, openEngine } from '../../src/db/database.ts'
import { makeLists } from '../../src/db/sqlite/making-lists.ts'
import { toSearchDocument } from '../../src/search/document.ts'
import { type Form, nameKey, queryTerms } from '../../src/search/terms.ts'
import { expectConsistent } from '../support/consistency.ts'
import { copyWorldFile } from '../support/database.ts'

/** Whatever is kept for a search, it finds what the plainest way finds, each page in the same order. */

const words = ['ab', 'abc', 'abd', 'ba', 'bab', 'c', 'cab', 'cabin', 'd', 'da', '日本', '本']
const actor = { operator: 'test' }
const size = 400

test('lists, changes since, and what is remembered make no difference to what is found', async () => {
  const { file, database, random } = await openFull()
  const count = async (table: string) => {
    const [row] = await database.read(({ sql }) => sql(table).count({ count: '*' }))
    return Number(row?.count)
  }
  expect(await count('app_search_lists')).toBe(0)
  await expectPlain(database, random)

  await makeAll(file)
  // Nearly all that the questions ask for has one, in several blocks.
  expect(await count('app_search_lists')).toBeGreaterThan(100)
  await expectPlain(database, random)

  // No list is brought up to date, some are, and all of them again and again.
  for (const changes_a_round of [1000, 40, 5]) {
    await database.write(({ sql }) => sql('app_search_state').update({ changes_a_round }))
    for (let turn = 0; turn < 3; turn++) {
      await change(database, random)
      await expectPlain(database, random)
    }
  }
  // The ids that changed in one round and the one before it, of more than a hundred.
  expect(await count('app_search_recent')).toBeLessThan(20)

  // Lists that were made while others changed apps.
  await makeAll(file, () => change(database, random))
  await expectPlain(database, random)
  await change(database, random)
  await expectPlain(database, random)
  await expectConsistent(database)
})

test('a page of many walks its order’s index and sorts nothing', async () => {
  const { file, database } = await openFull()
  await makeAll(file)
  const statements: { sql: string; bindings: (string | number)[] }[] = []
  const note = (statement: (typeof statements)[number]) => statements.push(statement)
  const plans = await database.read(async (connection) => {
    connection.sql.on('query', note)
    for (const filter of [{}, { category: 'empty' }]) {
      await connection.search.page(
        { terms: queryTerms('a'), keys: [], categoryId: filter.category ? 3 : undefined },
        ['total_downloads', 'id'],
        false,
        5,
        0,
      )
    }
    connection.sql.removeListener('query', note)
    const walks = statements.filter(({ sql }) => /order by apps/.test(sql))
    return Promise.all(
      walks.map(async ({ sql, bindings }) => {
        const steps: { detail: string }[] = await connection.sql.raw(`explain query plan ${sql}`, bindings)
        return steps.map(({ detail }) => detail).join('; ')
      }),
    )
  })
  expect(plans.length).toBeGreaterThanOrEqual(2)
  expect(
    plans.filter(
      (plan) => !/USING (COVERING )?INDEX apps_(category_)?popular\b/.test(plan) || /TEMP B-TREE/.test(plan),
    ),
  ).toEqual([])
})

/** Numbers from 0 up to a limit, the same in each run. */
function randomNumbers() {
  let state = 1
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
type Random = ReturnType<typeof randomNumbers>

async function openFull() {
  const file = copyWorldFile()
  const database = openDatabase(`sqlite:${file}`)
  onTestFinished(() => database.close())
  const random = randomNumbers()
  await database.write(async (connection) => {
    const ada = await connection.sql('developers').where({ name: 'Ada' }).first()
    const categories = await connection.sql('categories').orderBy('id').pluck('id')
    await appStore(connection).insertAll(
      'app create',
      Array.from({ length: size }, (_, index) => randomApp(random, ada?.id ?? 0, categories, index)),
      actor,
    )
  })
  return { file, database, random }
}

/** Ids are far apart, as in a large catalogue. */
function randomApp(random: Random, developer_id: number, categories: number[], index: number) {
  const at = new Date(Date.UTC(2030, 0, 1, 0, 0, index)).toISOString()
  const app: NewAppRow = {
    id: 1000 + index * 997,
    developer_id,
    category_id: categories[random(categories.length)] ?? 0,
    status: 'approved',
    approved_at: at,
    created_at: at,
    updated_at: at,
    total_downloads: random(50),
    package_name: random(2) === 0 ? null : `${some(random, 1)}.a.p${index}`.replace(/[^a-z0-9.]/g, 'x'),
    version: '1.0.0',
    name: some(random, 1 + random(3)),
    short_description: null,
    rejection_reason: null,
    description: some(random, 1 + random(6)),
  }
  return { app, at }
}

const some = (random: Random, count: number) =>
  Array.from({ length: count }, () => words[random(words.length)] ?? '').join(' ')

/** Some apps change their names, some their categories, some are not listed any more, some are new. */
async function change(database: Database, random: Random) {
  await database.write(async (connection) => {
    const store = appStore(connection)
    const ids: number[] = await connection.sql('apps').where({ status: 'approved' }).whereNull('deleted_at').pluck('id')
    const categories = await connection.sql('categories').orderBy('id').pluck('id')
    for (let index = 0; index < 12; index++) {
      const app = await connection
        .sql('apps')
        .where({ id: ids[random(ids.length)] ?? 0 })
        .first()
      if (!app) throw new Error('there is no such app')
      const changes = [
        { name: some(random, 2), total_downloads: random(50) },
        { category_id: categories[random(categories.length)] ?? 0 },
        { deleted_at: '2031-01-01T00:00:00.000Z' },
      ][index % 4]
      if (changes) await store.save('app update', app, changes, actor)
      else
        await store.insertAll(
          'app create',
          [randomApp(random, app.developer_id, categories, size + random(1e6))],
          actor,
        )
    }
  })
}

/** Lists of all that three apps have, made as after an import; `meanwhile` happens once they have begun to be made. */
async function makeAll(file: string, meanwhile?: () => Promise<void>) {
  const { reader, writer, close } = openEngine(`sqlite:${file}`)
  let writes = 0
  const making = makeLists(
    {
      snapshot: (work) => reader.transaction(work),
      async write(work) {
        if (++writes === 2) await meanwhile?.()
        return writer.transaction(work)
      },
    },
    3,
  )
  await making.finally(close)
}

/** Asks at random, and twice, for what is found is remembered. */
async function expectPlain(database: Database, random: Random) {
  const apps = await database.read(({ sql }) =>
    sql('apps')
      .join('developers', 'developers.id', 'apps.developer_id')
      .join('categories', 'categories.id', 'apps.category_id')
      .where({ status: 'approved' })
      .whereNull('deleted_at')
      .select('apps.*', 'developers.name as developer_name', 'categories.slug as category'),
  )
  for (let asked = 0; asked < 40; asked++) {
    const search = [0, 1, 2]
      .slice(random(3))
      .map(() => (words[random(words.length)] ?? '').slice(0, 1 + random(5)))
      .join(' ')
    const filter = {
      search: random(8) === 0 ? apps[random(apps.length)].name : search,
      ...(random(3) === 0 && { category: apps[random(apps.length)].category }),
      ...(random(3) === 0 && { sort: 'popular' as const }),
    }
    const due = plainly(apps, filter)
    if (due.length === 0) continue
    const limit = 1 + random(40)
    for (const page of [1, 1 + random(Math.ceil(due.length / limit)), Math.ceil(due.length / limit)]) {
      const found = await findApps(database, { ...filter, limit, page })
      expect(
        { total: found.total, ids: found.apps.map(({ id }) => id) },
        JSON.stringify({ ...filter, limit, page }),
      ).toEqual({ total: due.length, ids: due.slice((page - 1) * limit, page * limit) })
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: rows of a join, of which knex knows no type
type Listed = any

/** The ids of all that is found, by looking at each app. */
function plainly(apps: Listed[], { search, category, sort }: Omit<AppListQuery, 'page' | 'limit'>): number[] {
  const terms = queryTerms(search ?? '')
  const rankOf = (app: Listed) => {
    const document = toSearchDocument(app, app.developer_name)
    const [name, text, packageName] = [document.name, document.text, document.package].map((tokens) =>
      tokens.split(' '),
    )
    const has = (tokens: (string[] | undefined)[], isWhole: boolean) =>
      terms.every(({ forms }) => forms.some((form) => tokens.flat().some((token) => isHad(form, token ?? '', isWhole))))
    if (!has([name, text, packageName], false)) return 0
    if (document.keys.includes(nameKey(search ?? ''))) return 1
    if (has([name], true)) return 2
    if (has([name], false)) return 3
    return has([name, text], true) ? 4 : 5
  }
  return apps
    .filter((app) => category === undefined || app.category === category)
    .map((app) => ({ id: app.id, downloads: app.total_downloads, rank: rankOf(app) }))
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => (sort ? 0 : a.rank - b.rank) || b.downloads - a.downloads || b.id - a.id)
    .map(({ id }) => id)
}

/** Of forms that are one token. */
const isHad = ({ tokens, extent }: Form, token: string, isWhole: boolean) =>
  extent === 'whole' || (extent === 'either' && isWhole) ? token === tokens[0] : token.startsWith(tokens[0] ?? '')
