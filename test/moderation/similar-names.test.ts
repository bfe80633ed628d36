import { expect, test } from 'vitest'
import { accountStore } from '../../src/accounts/store.ts'
import { appStore } from '../../src/catalogue/store.ts'
import { findSimilarApps } from '../../src/moderation/similar-names.ts'
import { moderationStore } from '../../src/moderation/store.ts'
import { similarWords } from '../../src/search/typos.ts'
import { importLines } from '../support/catalogue-file.ts'
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
async function addApps(service: Service, developer: string, names: string[], downloadsOf?: (index: number) => number) {
  await service.database.write(async (connection) => {
    const { id } = await accountStore(connection).findOrAddDeveloper(developer)
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
    await appStore(connection).insertAll('app create', apps, actor)
  })
}

test('of 300 pending apps, the queue marks at least 19 of 20 impostors and less than 5 % of the others', async () => {
  const service = await startService()
  for (const name of Object.keys(impostors)) await addApps(service, `The makers of ${name}`, [name], () => 1e9)
  await addApps(service, 'Others', ordinaryNames.slice(280), (index) => 10 ** (index % 7))
  const planted = Object.values(impostors).flat()
  await addApps(service, 'Strangers', [...ordinaryNames.slice(0, 280), ...planted])
  expect(planted).toHaveLength(20)

  const { apps } = await service.database.snapshot((connection) =>
    moderationStore(connection).queue('pending', { developer: 'Strangers' }, 1000, 0),
  )
  expect(apps).toHaveLength(300)
  const original = (name: string) => Object.keys(impostors).find((one) => impostors[one]?.includes(name))
  const marked = apps.filter(({ similar }) => similar.length > 0)
  const caught = marked.filter(({ name, similar }) => similar.some((one) => one.name === original(name)))
  const missed = planted.filter((name) => !caught.some((app) => app.name === name))
  expect(missed.length, missed.join()).toBeLessThanOrEqual(1)
  const wrong = marked.filter(({ name }) => original(name) === undefined).map(({ name }) => name)
  expect(wrong.length, wrong.join()).toBeLessThan(0.05 * 280)
})

test('the similar apps are listed ones of other developers, the most downloaded first', async () => {
  const service = await startService()
  await addApps(
    service,
    'Big',
    ['Star Catcher', 'Star Tracker', 'Starcatcher', 'Star-Catcher', 'Star Matcher', 'Star Catchers'],
    (index) => 6000 + 1000 * index,
  )
  await addApps(service, 'Waiting', ['Star Catcher'])
  const similarTo = (name: string, developer_id: number) =>
    service.database.read((connection) => findSimilarApps(connection, { name, developer_id }))
  expect(await similarTo('Star Catcher', 1)).toEqual(
    ['Star Catchers', 'Star Matcher', 'Starcatcher'].map((name) => ({
      id: expect.any(Number),
      name,
      developer_name: 'Big',
      total_downloads: expect.any(Number),
    })),
  )
  const [big] = await service.database.read(({ sql }) => sql('developers').where({ name: 'Big' }).pluck('id'))
  expect(big).toBeDefined()
  expect(await similarTo('Star Catcher', Number(big))).toEqual([])
  expect(await similarTo('Star', 1)).toEqual([])
  expect(await similarTo('x'.repeat(100), 1)).toEqual([])
  expect(await similarTo('🐾', 1)).toEqual([])
})

test('a long name in many parts of Unicode is not compared letter by letter, and costs no more than others', async () => {
  // Each letter is in another block of 128 code points.
  const name = Array.from({ length: 60 }, (_, index) => String.fromCodePoint(0x4e00 + 128 * index)).join('')
  expect(similarWords(name).length).toBeLessThan(2 * name.length)
  const { database } = await startService()
  await importLines(database, [{ name, description: 'D', category: 'tools', developer_name: 'Cy' }])
  const queue = await database.snapshot((connection) => moderationStore(connection).queue('pending', {}, 10, 0))
  expect(queue.apps.find((app) => app.name === name)?.similar).toEqual([])
})
