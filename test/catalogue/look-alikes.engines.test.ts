import { expect, test } from 'vitest'
import { findOrAddDeveloper } from '../../src/accounts/account-store.ts'
import { changeApps, saveApp } from '../../src/catalogue/app-store.ts'
import { findLookAlikeDevelopers, findLookAlikes } from '../../src/catalogue/look-alikes.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
import { listQueue } from '../../src/moderation/queue.ts'
import { looksOf } from '../../src/search/fold.ts'
import { lookTokens } from '../../src/search/terms.ts'
import { required } from '../../src/util/helpers.ts'
import { type Service, startService } from '../support/service.ts'

const past = '2020-01-01T00:00:00.000Z'
const actor = { operator: 'test' }

/** Well-known apps, each with the names of impostors. */
const impostors: Record<string, string[]> = {
  'WaveChatt Messenger': [
    'W\u0430veChatt Messenger',
    'WaveChatt Messenger',
    'Wavechatt messenger',
    'WaveChat Messenger',
  ],
  Islandgram: ['lslandgram'],
  Tunefly: ['Tunefl\u0443'],
  Harborgram: ['Harborgrarn'],
  Beacon: ['BEACON'],
  Reelflix: ['Ree1flix'],
  'Kérimon GO': ['Kerimon Go'],
  'Berry Blast Saga': ['BerryBlast Saga'],
  'Goodroad Maps': ['G00droad Maps'],
  CoinPal: ['CoinPaI'],
  Polylingo: ['Po1ylingo'],
  Moonecraft: ['\u041Coonecraft'],
  Звездофф: ['Звездoфф'],
  'Lodging.com': ['Lodging.corn'],
  Quickchat: ['Quickchatt'],
  'Friendbook Lite': ['\uFF26riendbook Lite'],
  Firewolf: ['Fìrewolf'],
}

const firstWords =
  'Photo Video Music Weather Sleep Habit Budget Recipe Travel Star Night Tide Bird Garden Chess Piano Word Number Water Calm'
const lastWords =
  'Editor Player Clock Tracker Planner Notes Note Maps Map Timer Diary Log Guide Book Box Lab Studio Master Widget Scanner Keyboard Calendar Reader Radio Helper'

/** Names as stores have them, in an order that mixes the words. */
const ordinaryNames = firstWords
  .split(' ')
  .flatMap((first) => lastWords.split(' ').map((last) => `${first} ${last}`))
  .map((name, index, names) => names[(index * 7) % names.length] ?? name)

/** Listed apps have downloads; pending ones have none. */
async function insertApps(
  runner: QueryRunner,
  developer: string,
  names: string[],
  downloadsOf?: (index: number) => number,
) {
  const { id } = await findOrAddDeveloper(runner, developer)
  const apps = names.map((name, index) => ({
    at: past,
    app: {
      name,
      developer_id: id,
      category_id: 1,
      description: 'D',
      short_description: null,
      version: '1',
      package_name: null,
      created_at: past,
      updated_at: past,
      total_downloads: downloadsOf?.(index) ?? 0,
      status: downloadsOf ? ('approved' as const) : ('pending' as const),
      approved_at: downloadsOf ? past : null,
      rejection_reason: null,
    },
  }))
  await changeApps(runner, 'app create', { inserts: apps }, actor)
}

const addApps = (
  service: Service,
  developer: string,
  names: string[],
  downloadsOf?: (index: number) => number,
) => service.database.write((runner) => insertApps(runner, developer, names, downloadsOf))

test('of 300 pending apps, the queue marks each impostor and less than 5 % of the others', async () => {
  const service = await startService()
  for (const name of Object.keys(impostors))
    await addApps(service, `The makers of ${name}`, [name], () => 1e9)
  await addApps(service, 'Others', ordinaryNames.slice(280), (index) => 10 ** (index % 7))
  const planted = Object.values(impostors).flat()
  await addApps(service, 'Strangers', [...ordinaryNames.slice(0, 280), ...planted])

  const { apps } = await service.database.snapshot((runner) =>
    listQueue(runner, 'pending', { developer: 'Strangers' }, 1000, 0),
  )
  expect(apps).toHaveLength(300)
  const lookAlikesOf = (name: string) => apps.find((app) => app.name === name)?.lookAlikes ?? []
  const caught = Object.entries(impostors).map(([original, names]) => [
    original,
    names.filter((name) => lookAlikesOf(name).some((app) => app.name === original)),
  ])
  expect(Object.fromEntries(caught)).toEqual(impostors)
  const marked = apps.filter(({ lookAlikes }) => lookAlikes.length > 0).map(({ name }) => name)
  const wrong = marked.filter((name) => !planted.includes(name))
  expect(wrong.length, wrong.join()).toBeLessThan(0.05 * 280)
})

/** The apps that one of a developer is a look-alike of. */
const findLookAlikesOf = async (runner: QueryRunner, name: string, developer_id = 1) =>
  (await findLookAlikes(runner, [{ name, developer_id, status: 'pending' }])).flat()

const lookAlikesOf = (
  { database }: Pick<Service, 'database'>,
  name: string,
  developer_id?: number,
) => database.read((runner) => findLookAlikesOf(runner, name, developer_id))

test('the own apps of a developer leave room for those of others', async () => {
  const service = await startService()
  await addApps(service, 'Own', Array<string>(3).fill('Moonlight'), () => 50_000)
  await addApps(service, 'Other', ['Moonlight'], () => 20_000)
  const [own] = await service.database.read(({ sql }) =>
    sql('developers').where({ name: 'Own' }).pluck('id'),
  )
  expect(await lookAlikesOf(service, 'Moonlights', Number(own))).toMatchObject([
    { developer_name: 'Other' },
  ])
})

/** The look-alikes of each pending app of a developer. */
async function lookAlikesInQueue({ database }: Service, developer: string) {
  const { apps } = await database.snapshot((runner) =>
    listQueue(runner, 'pending', { developer }, 50, 0),
  )
  return apps.map(({ lookAlikes }) =>
    lookAlikes.map(({ name, developer_name, status }) => `${name} by ${developer_name}, ${status}`),
  )
}

test.for<[difference: string, one: string, other: string]>([
  ['nothing', 'Moonlight', 'Moonlight'],
  ['case and symbols', 'Moonlight', '🌙 MOON-LIGHT!'],
  ['a Cyrillic о', 'Moonlight', 'Mоonlight'],
  ['a capital I for l', 'Moonlight', 'MoonIight'],
  ['an emoji behind a short name', 'Go', 'Go 🎲'],
  ['spaces between symbols', '🐾🎲', '🐾 🎲'],
  ['the case of a letter before symbols', 'C++', 'c++'],
])(
  'two pending apps whose names differ in %s are look-alikes of each other',
  async ([, one, other]) => {
    const service = await startService()
    await addApps(service, 'One', [one])
    await addApps(service, 'Other', [other])
    expect(await lookAlikesInQueue(service, 'One')).toEqual([[`${other} by Other, pending`]])
    expect(await lookAlikesInQueue(service, 'Other')).toEqual([[`${one} by One, pending`]])
  },
)

test.for<[difference: string, one: string, other: string]>([
  ['a letter', 'Moonlight', 'Moonlights'],
  ['an edition', 'Moonlight', 'Moonlight Pro'],
  ['the signs behind a letter', 'C++', 'C#'],
])('two pending apps whose names differ in %s are no look-alikes', async ([, one, other]) => {
  const service = await startService()
  await addApps(service, 'One', [one])
  await addApps(service, 'Other', [other])
  expect(await lookAlikesInQueue(service, 'One')).toEqual([[]])
})

test('pending apps of the same developer, and decided or deleted ones, are no look-alikes', async () => {
  const service = await startService()
  await addApps(service, 'One', ['Moonlight', 'Moonlight'])
  await addApps(service, 'Rejected', ['Moonlight'])
  await addApps(service, 'Deleted', ['Moonlight'])
  await service.database.write(async (runner) => {
    const idOf = async (name: string) => {
      const [id] = await runner
        .sql('apps')
        .join('developers', 'developers.id', 'developer_id')
        .where('developers.name', name)
        .pluck('apps.id')
      return Number(id)
    }
    await decideApp(runner, 'reject', await idOf('Rejected'), actor, { reason: 'No.' })
    await runner
      .sql('apps')
      .where({ id: await idOf('Deleted') })
      .update({ deleted_at: past })
  })
  expect(await lookAlikesInQueue(service, 'One')).toEqual([[], []])
})

test.for<[when: string, isTime: (statement: string) => boolean, last: RegExp]>([
  ['the names are prepared', () => false, /never/],
  ['popular names are compared', (statement) => statement.includes('app_names'), /10000/],
])('nothing more is read if the caller disconnects while %s', async ([, isTime, last]) => {
  const service = await startService()
  const { database } = service
  await addApps(service, 'Big', ['Moonlight'], () => 20_000)
  const caller = new AbortController()
  const statements: string[] = []
  const find = database.read(
    (runner) => {
      if (!isTime('app_names')) caller.abort()
      database.onStatement((statement) => {
        statements.push(statement)
        if (isTime(statement)) caller.abort()
      })
      return findLookAlikes(runner, [{ name: 'Moonlight', developer_id: 1, status: 'pending' }])
    },
    { signal: caller.signal },
  )
  await expect(find).rejects.toThrow()
  expect(statements.at(-1) ?? 'never').toMatch(last)
})

test('listed apps precede pending ones, of which the oldest come first', async () => {
  const service = await startService()
  for (const developer of ['One', 'Two', 'Three', 'Four'])
    await addApps(service, developer, ['Moonlight'])
  await addApps(service, 'Listed', ['Moonlight'], () => 0)
  expect(await lookAlikesInQueue(service, 'Three')).toEqual([
    ['Listed, approved', 'One, pending', 'Two, pending'].map((by) => `Moonlight by ${by}`),
  ])
})

test('of many apps with one name, the oldest are found', async () => {
  const { database } = await startService()
  const ids = await database.write(async (runner) => {
    await insertApps(
      runner,
      'Many',
      Array.from({ length: 5 }, () => 'Moonlight'),
    )
    return runner.sql('apps').where({ name: 'Moonlight' }).orderBy('id').pluck('id')
  })
  const tokens = lookTokens(looksOf('Moonlight'))
  const found = await database.read(({ names }) => names.oldestWithEach(tokens, 3))
  expect(found).toEqual(tokens.map((token) => ({ token, ids: ids.slice(0, 3) })))
})

test('names are compared with those of thousands of popular apps', async () => {
  const service = await startService()
  const names = Array.from({ length: 4001 }, (_, index) => `Popular ${index}`)
  await addApps(service, 'Big', names.with(-1, 'Moonlight'), (index) => 20_000 - (index >> 1))
  expect(await lookAlikesOf(service, 'Moonlights')).toMatchObject([{ name: 'Moonlight' }])
})

test('names are compared with those of thousands of developers', async () => {
  const { database } = await startService()
  const nameOf = (maker: string, index: number) => `${maker} ${String(index).padStart(4, '0')}`
  await database.write(({ insertRows }) =>
    insertRows(
      'developers',
      Array.from({ length: 4100 }, (_, index) => ({
        name: nameOf('Maker', index),
        created_at: past,
        changed_at: past,
      })),
    ),
  )
  const indexes = [0, 1500, 2500, 3500, 4099]
  // One after the other, because a read that waits for a slot has a time limit.
  for (const index of indexes)
    expect(
      await database.read((runner) => findLookAlikeDevelopers(runner, nameOf('Makers', index))),
    ).toEqual([nameOf('Maker', index)])
})

test('the look-alikes are those of other developers, listed ones first, by downloads', async () => {
  const service = await startService()
  await addApps(
    service,
    'Big',
    [
      'Star Catcher',
      'Star Tracker',
      'Starcatcher',
      'Star-Catcher',
      'Star Matcher',
      'Star Catchers',
    ],
    (index) => 6000 + 1000 * index,
  )
  await addApps(service, 'Waiting', ['Star Catcher'])
  await addApps(service, 'Taken down', ['Star Catcher', 'Star Catchers', 'Star Hatcher'], () => 1e9)
  await service.database.write(async (runner) => {
    const ids: number[] = await runner.sql('apps').where({ total_downloads: 1e9 }).pluck('id')
    for (const id of ids) await decideApp(runner, 'reject', id, actor, { reason: 'No.' })
  })
  expect(await lookAlikesOf(service, 'Star Catcher')).toEqual(
    ['Star Catchers', 'Star Matcher', 'Star-Catcher'].map((name) => ({
      id: expect.any(Number),
      name,
      developer_name: 'Big',
      status: 'approved',
      total_downloads: expect.any(Number),
    })),
  )
  const [big] = await service.database.read(({ sql }) =>
    sql('developers').where({ name: 'Big' }).pluck('id'),
  )
  expect(big).toBeDefined()
  expect(await lookAlikesOf(service, 'Star Catcher', Number(big))).toMatchObject([
    { developer_name: 'Waiting', status: 'pending' },
  ])
  expect(await lookAlikesOf(service, 'Star')).toEqual([])
  expect(await lookAlikesOf(service, 'x'.repeat(100))).toEqual([])
  expect(await lookAlikesOf(service, '🐾')).toEqual([])
})

test.for<[how: string, name: string]>([
  ['look the same', 'Moonlight'],
  ['are at distance one', 'Moonlights'],
])('of apps with the same downloads whose names %s, the oldest are listed', async ([, name]) => {
  const service = await startService()
  await addApps(service, 'Cy', Array<string>(4).fill('Moonlight'), () => 20_000)
  const lookAlikes = await lookAlikesOf(service, name)
  const ids = await service.database.read(({ sql }) =>
    sql('apps').where({ name: 'Moonlight' }).orderBy('id').pluck('id'),
  )
  expect(lookAlikes.map(({ id }) => id)).toEqual(ids.slice(0, 3))
})

test('names are compared with the current names of apps, as they are and as they look', async () => {
  const { database } = await startService()
  await addApps({ database } as Service, 'Cy', ['Карта'], () => 0)
  const namesLike = async (name: string) =>
    (await lookAlikesOf({ database }, name)).map((app) => app.name)
  const rename = (name: string, next: string) =>
    database.write(async (runner) => {
      const app = required(await runner.sql('apps').where({ name }).first(), 'the app')
      await saveApp(runner, 'app update', app, { name: next }, actor)
    })
  expect(await namesLike('Кaртa')).toEqual(['Карта'])
  await rename('Карта', 'Глобус')
  expect(await namesLike('Кaртa')).toEqual([])
  expect(await namesLike('Глoбус')).toEqual(['Глобус'])
  // Back to a name that it had, and to one with the same look.
  await rename('Глобус', 'КАРТА')
  await rename('КАРТА', 'Карта')
  expect(await namesLike('Кaртa')).toEqual(['Карта'])
})

test('a queue of 50 long names in two scripts is compared with the popular ones in few statements', async () => {
  const service = await startService()
  const range = (from: number) =>
    Array.from({ length: 23 }, (_, index) => String.fromCodePoint(from + index)).join('')
  const name = (index: number | 'a') => `${range(0x4e02)}${range(0x5100)}rn${index}`
  await addApps(
    service,
    'Strangers',
    Array.from({ length: 50 }, (_, index) => name(index)),
  )
  await addApps(service, 'Popular', [name('a')], () => 1e6)
  const statements: string[] = []
  service.database.onStatement((statement) => statements.push(statement))
  const { apps } = await service.database.snapshot((runner) =>
    listQueue(runner, 'pending', { developer: 'Strangers' }, 50, 0),
  )
  const neighbours = apps.filter((app) => /rn\d$/.test(app.name))
  expect(neighbours.map(({ lookAlikes }) => lookAlikes.map((app) => app.name))).toEqual(
    Array.from({ length: 10 }, () => [name('a')]),
  )
  // For each app, PostgreSQL takes up to four to find those that look the same.
  expect(statements.length).toBeLessThan(300)
})
