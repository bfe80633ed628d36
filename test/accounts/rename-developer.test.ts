import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { renameDeveloper } from '../../src/accounts/rename-developer.ts'
import { accountStore } from '../../src/accounts/store.ts'
import { findApps } from '../../src/catalogue/app-list.ts'
import { appStore } from '../../src/catalogue/store.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { moderationStore } from '../../src/moderation/store.ts'
import { importLines } from '../support/catalogue-file.ts'
import { freezeMonotonicClock } from '../support/clock.ts'
import { expectConsistent, found } from '../support/consistency.ts'
import { copyWorld } from '../support/database.ts'

const actor = { operator: 'test' }
const past = '2020-01-01T00:00:00.000Z'

/** More than two batches of what search is told at a time, several of one name; and one that waits. */
const count = 241

/** A database with a developer of many apps, and another connection to it, as another process has. */
async function prolific() {
  const address = await copyWorld()
  const [database, other] = [openDatabase(address), openDatabase(address)]
  onTestFinished(async () => {
    await database.close()
    await other.close()
  })
  const { developer, waiting } = await database.write(async (connection) => {
    const developer = await accountStore(connection).findOrAddDeveloper('Prolific')
    const row = {
      developer_id: developer.id,
      category_id: 1,
      created_at: past,
      updated_at: past,
      total_downloads: 0,
      rejection_reason: null,
      package_name: null,
      short_description: null,
      description: 'One of many.',
      version: '1',
    }
    const listed = { ...row, status: 'approved' as const, approved_at: past }
    const apps = Array.from({ length: count }, (_, index) => ({
      app: { ...listed, name: `Many ${index % 2}` },
      at: past,
    }))
    await appStore(connection).insertAll('app import', apps, actor)
    const pending = { ...row, status: 'pending' as const, approved_at: null }
    const waiting = await Promise.resolve([
      await appStore(connection).insert({ ...pending, name: 'Waiting' }, actor),
      await appStore(connection).insert({ ...pending, name: 'A waiting one' }, actor),
    ])
    return { developer, waiting: waiting.map(({ id }) => id) }
  })
  return { database, other, id: developer.id, waiting }
}

const matches = async (database: Database, search: string) =>
  (await findApps(database, { page: 1, limit: 1, search })).total

/** Each app is found by the name that it shows, whichever that is. Returns it. */
async function expectTrue(database: Database, id: number): Promise<string> {
  const { name, listed } = await database.snapshot(async ({ sql }) => ({
    name: (await sql('developers').where({ id }).first('name'))?.name ?? '',
    listed: await sql('apps').where({ developer_id: id, status: 'approved' }).whereNull('deleted_at').pluck('id'),
  }))
  expect(await matches(database, name)).toBe(listed.length)
  const { apps } = await findApps(database, { page: 1, limit: 100, search: name })
  expect(new Set(apps.map(({ developer_name }) => developer_name))).toEqual(new Set([name]))
  await expectConsistent(database)
  return name
}

/** A database that does something after each of its transactions, before the next can begin. */
const between = (database: Database, act: (transactions: number) => Promise<void>): Database => {
  let transactions = 0
  return {
    ...database,
    async write(work) {
      const result = await database.write(work)
      await act(++transactions)
      return result
    },
  }
}

/** Those by whom search knows developers beside their names: who, and as what. */
const otherNames = (database: Database) =>
  database.read(({ sql }) =>
    sql('developers')
      .whereNotNull('next_name')
      .orWhereNotNull('former_name')
      .select('name', 'next_name', 'former_name'),
  )

/** Turns of one batch each. */
const shortest = 0

test.for<[what: string, longest: number, transactions: number]>([
  ['no time, each turn is a batch', shortest, 9],
  ['time enough, one turn has all of them', 1000, 5],
])('with %s', async ([, longest, transactions]) => {
  const { database } = await prolific()
  freezeMonotonicClock()(60_000)
  let done = 0
  const counting = between(database, async (transactions) => {
    done = transactions
  })
  await renameDeveloper(counting, 'Prolific', 'Frugal', actor, longest)
  // Twice three batches, before the name changes and after; and what begins, changes and ends.
  expect(done).toBe(transactions)
})

test('another who is being given a name meanwhile keeps both', async () => {
  const { database } = await prolific()
  const former_name = 'Robert'
  await database.write(({ sql }) => sql('developers').where({ name: 'Bob' }).update({ former_name }))
  await renameDeveloper(database, 'Prolific', 'Frugal', actor)
  expect(await otherNames(database)).toEqual([{ name: 'Bob', next_name: null, former_name }])
})

test('all of many apps are found by the new name, several of one name too', async () => {
  const { database, id } = await prolific()
  expect(await renameDeveloper(database, 'Prolific', ' Frugal', actor)).toEqual({
    id,
    name: 'Frugal',
    listed_apps: count,
  })
  expect([await matches(database, 'prolific'), await matches(database, 'frugal')]).toEqual([0, count])
  expect(await matches(database, 'ada')).toBe(1)
  expect(await otherNames(database)).toEqual([])
  await expectConsistent(database)
  const { changed_at, entries } = await database.snapshot(async ({ sql }) => ({
    changed_at: (await sql('developers').where({ id }).first('changed_at'))?.changed_at,
    entries: await sql('audit').where({ action: 'developer rename' }).select('at', 'before', 'after'),
  }))
  expect(entries).toEqual([{ at: changed_at, before: '{"name":"Prolific"}', after: '{"name":"Frugal"}' }])
})

test('others write between its turns, and each app is found by the name that it shows at every moment', async () => {
  const { database, other, id, waiting } = await prolific()
  const names: string[] = []
  const interrupted = between(database, async (transactions) => {
    // What is listed, changed or brought in meanwhile is found, too, before its place comes and behind it.
    const approved = waiting.shift()
    if (approved) await other.write((connection) => moderationStore(connection).decide('approve', approved, actor, {}))
    const owner = await other.read(({ sql }) => sql('developers').where({ id }).first('name'))
    const line = { description: 'New.', category: 'tools', developer_name: owner?.name, status: 'approved' }
    await importLines(other, [
      { ...line, name: `A new one ${transactions}` },
      { ...line, name: `New ${transactions}`, package_name: `org.example.new${transactions}` },
      { ...line, name: transactions % 2 ? 'Zoo' : 'Ark', slug: 'moving' },
    ])
    names.push(await expectTrue(other, id))
  })
  const renamed = await renameDeveloper(interrupted, 'Prolific', 'Frugal', actor, shortest)
  expect(names.length).toBeGreaterThan(8)
  expect(new Set(names)).toEqual(new Set(['Prolific', 'Frugal']))
  expect(renamed.listed_apps).toBeGreaterThan(count + names.length)
  expect([await matches(database, 'prolific'), await found(database, 'prolific')]).toEqual([0, []])
  expect(await expectTrue(database, id)).toBe('Frugal')
})

const stopped = new Error('stopped')
const stoppingAfter = (database: Database, last: number) =>
  between(database, async (transactions) => {
    if (transactions === last) throw stopped
  })
const stoppedOnly = (error: unknown) => {
  if (error !== stopped) throw error
}

describe('stopped between two turns', () => {
  // One begins it, three tell search of both names, one changes the name, three have search forget the old one.
  test.for([1, 2, 4, 5, 6, 8])('after %i, it is true, and the same again finishes', async (last) => {
    const { database, id } = await prolific()
    const first = renameDeveloper(stoppingAfter(database, last), 'Prolific', 'Frugal', actor, shortest)
    await expect(first).rejects.toBe(stopped)
    expect(await expectTrue(database, id)).toBe(last < 5 ? 'Prolific' : 'Frugal')
    expect(await renameDeveloper(database, ' Prolific', 'Frugal ', actor)).toMatchObject({ id, listed_apps: count })
    expect([await matches(database, 'prolific'), await matches(database, 'frugal')]).toEqual([0, count])
    await expectConsistent(database)
    expect(await otherNames(database)).toEqual([])
    const [audited] = await database.read(({ sql }) =>
      sql('audit').where({ action: 'developer rename' }).count({ count: '*' }),
    )
    expect(audited?.count).toBe(1)
    await expect(renameDeveloper(database, 'Prolific', 'Frugal', actor)).rejects.toMatchObject({
      message: 'there is no developer "Prolific"',
    })
  })

  test.for([2, 6])('after %i, another name may be given instead', async (last) => {
    const { database, id } = await prolific()
    const first = renameDeveloper(stoppingAfter(database, last), 'Prolific', 'Frugal', actor, shortest)
    await expect(first).rejects.toBe(stopped)
    await renameDeveloper(database, last < 5 ? 'Prolific' : 'Frugal', 'Sparing', actor)
    const totals = await Promise.all(['prolific', 'frugal', 'sparing'].map((name) => matches(database, name)))
    expect(totals).toEqual([0, 0, count])
    expect(await expectTrue(database, id)).toBe('Sparing')
  })
})

describe('two who give a developer another name at once', () => {
  // The second begins when the first has begun, and ends before it goes on.
  test.for<[what: string, last: number]>([
    ['is done', Number.POSITIVE_INFINITY],
    ['is stopped when all apps show the name', 5],
  ])('the same name, and the second %s: the first finishes, and it is in the audit once', async ([, last]) => {
    const { database, other, id } = await prolific()
    const first = between(database, async (transactions) => {
      if (transactions === 1)
        await renameDeveloper(stoppingAfter(other, last), 'Prolific', 'Frugal', actor, shortest).catch(stoppedOnly)
    })
    expect(await renameDeveloper(first, 'Prolific', 'Frugal', actor)).toEqual({
      id,
      name: 'Frugal',
      listed_apps: count,
    })
    expect([await matches(database, 'prolific'), await expectTrue(database, id)]).toEqual([0, 'Frugal'])
    expect(await otherNames(database)).toEqual([])
    expect(await database.read(({ sql }) => sql('audit').where({ action: 'developer rename' }))).toHaveLength(1)
  })

  test('two names: the first is refused', async () => {
    const { database, other, id } = await prolific()
    const first = between(database, async (transactions) => {
      if (transactions === 1) await renameDeveloper(other, 'Prolific', 'Sparing', actor)
    })
    await expect(renameDeveloper(first, 'Prolific', 'Frugal', actor)).rejects.toMatchObject({
      name: 'OperatorError',
      message: 'the developer is meanwhile being given another name',
    })
    expect(await matches(database, 'frugal')).toBe(0)
    expect(await expectTrue(database, id)).toBe('Sparing')
  })
})

describe('a name that meanwhile becomes another’s', () => {
  const refusal = { name: 'OperatorError', message: 'there is already a developer "Frugal"' }
  const taking = (database: Database, other: Database, last = Number.POSITIVE_INFINITY) =>
    between(database, async (transactions) => {
      if (transactions === 2) {
        const line = { name: 'Theirs', description: 'New.', category: 'tools', developer_name: 'Frugal' }
        await importLines(other, [{ ...line, status: 'approved' }])
      }
      if (transactions === last) throw new Error('stopped')
    })

  test('is refused, and nothing of it stays', async () => {
    const { database, other, id } = await prolific()
    await expect(renameDeveloper(taking(database, other), 'Prolific', 'Frugal', actor, shortest)).rejects.toMatchObject(
      refusal,
    )
    expect([await matches(database, 'prolific'), await found(database, 'frugal')]).toEqual([count, ['Theirs']])
    expect(await expectTrue(database, id)).toBe('Prolific')
    expect(await otherNames(database)).toEqual([])
    expect(await database.read(({ sql }) => sql('audit').where({ action: 'developer rename' }))).toEqual([])
  })

  test('is refused again where the first run was stopped before search had forgotten it', async () => {
    const { database, other, id } = await prolific()
    const first = renameDeveloper(taking(database, other, 6), 'Prolific', 'Frugal', actor, shortest)
    await expect(first).rejects.toThrow('stopped')
    expect(await matches(database, 'frugal')).toBeGreaterThan(1)
    await expect(renameDeveloper(database, 'Prolific', 'Frugal', actor)).rejects.toMatchObject(refusal)
    expect(await found(database, 'frugal')).toEqual(['Theirs'])
    expect(await expectTrue(database, id)).toBe('Prolific')
  })
})

test('a developer named as one was before keeps apart from the one who has the new name', async () => {
  const { database, id } = await prolific()
  await renameDeveloper(database, 'Prolific', 'Frugal', actor)
  const line = { name: 'Theirs', description: 'New.', category: 'tools', developer_name: 'Prolific' }
  await importLines(database, [{ ...line, status: 'approved' }])
  expect(await found(database, 'prolific')).toEqual(['Theirs'])
  expect(await expectTrue(database, id)).toBe('Frugal')
  expect(inject('world').apps.approved).not.toBe(id)
})
