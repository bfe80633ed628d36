import { expect, test } from 'vitest'
import { accountStore } from '../../src/accounts/store.ts'
import { categoryStore } from '../../src/catalogue/categories.ts'
import { removeReview } from '../../src/catalogue/reviews.ts'
import { OperatorError } from '../../src/contract/errors.ts'
import type { Database } from '../../src/db/database.ts'
import type { Connection } from '../../src/db/dialect.ts'
import { moderationStore } from '../../src/moderation/store.ts'
import { exportLines, importLines } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { type Service, startEmptyService, startService } from '../support/service.ts'

/** The number of changes, and the seed that reproduces them: `MIRROR_CHANGES=500 make test`. */
const changes = Number(process.env.MIRROR_CHANGES ?? 150)
const seed = Number(process.env.MIRROR_SEED ?? Date.now() % 1_000_000)
const changesATime = 50

const operator = { operator: 'test' }

test(`a mirror that imports all changes equals its source, byte for byte (MIRROR_SEED=${seed})`, async () => {
  const source = await startService()
  const mirror = await startEmptyService()
  // Many developers, so that a change of one affects few apps.
  const apps = Array.from({ length: 60 }, (_, index) => ({
    name: `Map ${index}`,
    description: 'Here.',
    category: index % 2 ? 'games' : 'empty',
    developer_name: `Developer ${index % 12}`,
    status: index % 5 ? 'approved' : 'pending',
    average_rating: 1 + (index % 400) / 100,
    rating_count: index * index,
  }))
  await importLines(source.database, apps.slice(1))
  const change = changer(source, seed)
  let since: string | undefined
  for (let made = 0; made <= changes; made += changesATime) {
    // Without the minute for clock skew, which would hide a change that was not recorded.
    const next = (await source.database.committedBefore()).toISOString()
    const lines = await exportLines(source.database, since)
    expect(await importLines(mirror.database, lines), `after ${made} changes`).toMatchObject({ rejects: [] })
    await expectSame(source, mirror)
    expect(await importLines(mirror.database, lines)).toMatchObject({ created: 0, updated: 0, rejected: 0 })
    since = next
    for (let index = 0; index < changesATime; index++) await change()
  }
}, 300_000)

async function expectSame(source: Service, mirror: Service) {
  const whole = await exportLines(source.database)
  expect(await exportLines(mirror.database)).toEqual(whole)
  const all = ({ read }: Database) => read((connection) => categoryStore(connection).all())
  const categories = await all(source.database)
  expect(await all(mirror.database)).toEqual(categories)
  await expectConsistent(mirror.database)
  const waiting = ({ snapshot }: Database, queue: 'pending' | 'changed') =>
    snapshot((connection) => moderationStore(connection).queue(queue, {}, 1000, 0))
  for (const queue of ['pending', 'changed'] as const)
    expect(await waiting(mirror.database, queue)).toEqual(await waiting(source.database, queue))

  const queries = ['sort=latest', 'sort=popular', 'sort=rating', 'search=map', 'search=ada', 'limit=5&page=3']
  const paths = [
    ...queries.map((query) => `/apps?${query}`),
    ...categories.map(({ slug }) => `/apps?sort=rating&category=${slug}`),
    ...Array.from({ length: whole.length + 1 }, (_, index) => `/apps/${index + 1}`),
  ]
  for (const path of paths) {
    const [one, other] = [await source.get(path), await mirror.get(path)]
    const seen = ({ status, text, headers }: typeof one) => [status, text, headers.etag, headers.link]
    expect(seen(other), path).toEqual(seen(one))
  }
}

/** Returns a function that makes one random valid change. */
function changer({ database, request, decide, addReviews, world }: Service, start: number): () => Promise<void> {
  let state = start
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(random() * limit)
  const oneOf = <T>(list: readonly T[]): T => list[below(list.length)] as T
  const isRare = () => random() < 0.2
  const maybe = <T>(value: T) => (random() < 0.3 ? value : undefined)

  // Few, so that names and package names go from one to another.
  const names = ['Star Map', 'Moon', 'Sun Dial', 'Map of Maps', '地図', 'Ada’s Atlas']
  const packages = Array.from({ length: 8 }, (_, index) => `org.example.p${index}`)
  const words = ['tools', 'games', 'maps', 'sky', 'sea', 'music']
  const key = () => oneOf([world.keys.ada, world.keys.bob])
  const ids = () => database.read(({ sql }) => sql('apps').orderBy('id').pluck('id'))
  const anId = async () => oneOf(await ids())
  const isAccepted = (done: Promise<unknown>) =>
    done.then(
      () => true,
      (error: unknown) => {
        if (error instanceof OperatorError) return false
        throw error
      },
    )
  const write = <T>(work: (connection: Connection) => Promise<T>) => isAccepted(database.write(work))
  const isDone = ({ status }: { status: number }) => status < 300
  const fields = async () => ({
    name: maybe(oneOf(names)),
    description: maybe(`Of ${oneOf(words)}.`),
    short_description: maybe(oneOf(['', 'In short.'])),
    version: maybe(oneOf(['1.0', '2.0'])),
    package_name: maybe(oneOf(packages)),
    category_id: maybe(
      oneOf((await database.read((connection) => categoryStore(connection).all())).map(({ id }) => id)),
    ),
  })

  const kinds: (() => Promise<boolean>)[] = [
    async () => {
      const json = {
        category_id: 1,
        description: 'New.',
        ...JSON.parse(JSON.stringify(await fields())),
        name: oneOf(names),
      }
      return isDone(await request('POST', '/apps', { key: key(), json }))
    },
    async () => isDone(await request('PUT', `/apps/${await anId()}`, { key: key(), json: await fields() })),
    async () => isDone(await request('PUT', `/apps/${await anId()}`, { key: key(), json: await fields() })),
    async () => decide('approve', await anId()).then(() => true),
    async () => decide('approve', await anId()).then(() => true),
    async () => decide('reject', await anId()).then(() => true),
    async () => isDone(await request('DELETE', `/apps/${await anId()}`, { key: key() })),
    async () => {
      const id = await anId()
      return write((connection) => moderationStore(connection).restore(id, operator))
    },
    async () => {
      const id = await anId()
      const to = oneOf(await database.read(({ sql }) => sql('developers').orderBy('id').pluck('name')))
      return write((connection) => moderationStore(connection).transfer(id, to, operator))
    },
    async () => {
      // A package name goes from one app to another, often to one that an export has before it.
      const apps = await database.read(({ sql }) => sql('apps').whereNull('deleted_at').whereNotNull('package_name'))
      if (apps.length < 2) return false
      const [giver, taker] = [oneOf(apps), oneOf(apps)]
      const rename = (id: number, package_name: string | null) =>
        Promise.all(
          Object.values(world.keys).map((key) => request('PUT', `/apps/${id}`, { key, json: { package_name } })),
        )
      await rename(giver.id, `org.example.spare${below(1e9)}`)
      await rename(taker.id, giver.package_name)
      if (maybe(true)) await rename(giver.id, taker.package_name)
      return true
    },
    async () => addReviews(await anId(), 1 + below(3)).then(() => true),
    async () => {
      const reviews = await database.read(({ sql }) => sql('reviews').orderBy('id').pluck('id'))
      return reviews.length > 0 && write((connection) => removeReview(connection, oneOf(reviews), 'Spam.', operator))
    },
    async () => {
      const from = oneOf(await database.read(({ sql }) => sql('developers').orderBy('id').pluck('name')))
      const to = oneOf(['Ada', 'Bob', 'Cy', 'Di'])
      return isRare() && isAccepted(write((connection) => accountStore(connection).rename(from, to, operator)))
    },
    async () => {
      const from = oneOf(await database.read(({ sql }) => sql('categories').orderBy('id').pluck('slug')))
      const to = { slug: maybe(oneOf(words)), name: oneOf(['Tools', 'Games', 'Maps', 'Sky']) }
      return isRare() && write((connection) => categoryStore(connection).rename(from, to, operator))
    },
  ]
  return async () => {
    while (!(await oneOf(kinds)())) {
      // Another is tried.
    }
  }
}
