import { describe, expect, inject, test } from 'vitest'
import {
  findAccounts,
  findDevelopers,
  findKeys,
  findLookAlikesOfNewDeveloper,
  findOrAddDeveloper,
  issueKey,
  removeDeveloper,
  renameDeveloper,
  requireDeveloper,
  revokeKey,
} from '../../src/accounts/account-store.ts'
import { recordEntry } from '../../src/audit/audit-store.ts'
import { findAppPage } from '../../src/catalogue/app-list.ts'
import { changeApps } from '../../src/catalogue/app-store.ts'
import type { Database } from '../../src/db/database.ts'
import { decideApp } from '../../src/moderation/decisions.ts'
import { importLines } from '../support/catalogue-file.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent, findNames } from '../support/consistency.ts'
import { openWorld } from '../support/database.ts'

const actor = { operator: 'test' }
const past = '2020-01-01T00:00:00.000Z'
const { apps, keys } = inject('world')

const entriesOf = ({ read }: Database, action: string) =>
  read(({ sql }) =>
    sql('audit').where({ action }).orderBy('id').select('developer_id', 'at', 'before', 'after'),
  )

describe('a developer', () => {
  test('is found by any name, and added only with a valid one', async () => {
    const database = await openWorld()
    // From before the rule.
    const former = 'Bob\u200e'
    await database.write(({ sql }) =>
      sql('developers').where({ name: 'Bob' }).update({ name: former }),
    )
    const find = (name: string) => database.write((runner) => findOrAddDeveloper(runner, name))
    expect(await find(' Ada ')).toEqual({
      id: 1,
      name: 'Ada',
      contact: 'ada@example.org',
      isNew: false,
    })
    expect(await find(former)).toEqual({ id: 2, name: former, contact: null, isNew: false })
    const eve = await find(' Eve ')
    expect(eve).toMatchObject({ name: 'Eve', isNew: true })
    expect(await find('Eve')).toEqual({ ...eve, isNew: false })
    await expect(find('Zoe\u200e')).rejects.toMatchObject({ name: 'OperatorError' })
  })

  test.for<{ name: string; similar: string[] }>([
    { name: 'H\u0430rbour software', similar: ['Harbour Software'] },
    { name: 'H\u0430rb\u043Eur s\u043Eftware', similar: ['Harbour Software'] },
    { name: 'Harbor Software', similar: ['Harbour Software'] },
    { name: 'Гaвaнь', similar: ['Гавань'] },
    { name: 'Harbour Software', similar: [] },
    { name: 'Quay', similar: [] },
  ])('whose new name is $name resembles $similar', async ({ name, similar }) => {
    const { write } = await openWorld()
    await write(async (runner) => {
      for (const known of ['Harbour Software', 'Гавань']) await findOrAddDeveloper(runner, known)
      expect(await findLookAlikesOfNewDeveloper(runner, name)).toEqual(similar)
    })
  })

  test('who is missing is refused, with the names that resemble the text or have its words', async () => {
    const { read, write } = await openWorld()
    await write((runner) => findOrAddDeveloper(runner, 'Harbour Software'))
    const require = (name: string) => read((runner) => requireDeveloper(runner, name))
    await expect(require(' Zoe ')).rejects.toThrow(/^there is no developer "Zoe"$/)
    for (const name of ['Harbor Software', 'soft harb'])
      await expect(require(name)).rejects.toThrow(/"; similar: Harbour Software$/)
  })

  test('is listed by name, with the apps in each state, a page at a time', async () => {
    const { read, write } = await openWorld()
    await write(async (runner) => {
      for (const name of ['Zoe', 'Abe', 'Mia']) await findOrAddDeveloper(runner, name)
    })
    const page = (limit: number, offset: number) =>
      read((runner) => findDevelopers(runner, limit, offset))
    const none = { pending: 0, approved: 0, rejected: 0, deleted: 0 }
    expect(await page(50, 0)).toMatchObject({
      developers: [
        { name: 'Abe', apps: none, active_keys: 0 },
        { name: 'Ada', apps: { pending: 1, approved: 1, rejected: 1, deleted: 1 } },
        { name: 'Bob', apps: { pending: 1, approved: 1, rejected: 0, deleted: 0 } },
        { name: 'Mia', apps: none },
        { name: 'Zoe', apps: none },
      ],
      total: 5,
    })
    expect(await page(2, 1)).toMatchObject({
      developers: [{ name: 'Ada' }, { name: 'Bob' }],
      total: 5,
    })
  })
})

describe('a key', () => {
  test('expires after exactly 365 days by default', async () => {
    const now = freezeClock(Date.UTC(2026, 0, 1))
    const { read, write } = await openWorld()
    const issued = await write((runner) => issueKey(runner, { id: 1, name: 'Ada' }, actor))
    expect(issued.expires_at).toBe('2027-01-01T00:00:00.000Z')
    const activeKeys = () =>
      read(async (runner) => (await findAccounts(runner, [1]))[0]?.active_keys)
    expect(await activeKeys()).toBe(4)
    freezeClock(now + 365 * 24 * 60 * 60 * 1000)
    expect(await activeKeys()).toBe(3)
  })

  test('can have a name and less than all rights; the audit log has all but the key', async () => {
    const database = await openWorld()
    const expiresAt = '2999-01-31T00:00:00.000Z'
    const issued = await database.write((runner) =>
      issueKey(runner, { id: 2, name: 'Bob' }, actor, {
        name: ' nightly upload ',
        expiresAt,
        app_id: 5,
        read_only: true,
      }),
    )
    const { id, name, expires_at } = issued
    expect([name, expires_at]).toEqual(['nightly upload', expiresAt])
    expect((await entriesOf(database, 'key issue')).at(-1)).toMatchObject({
      developer_id: 2,
      before: null,
      after: JSON.stringify({ id, name, expires_at, app_id: 5, read_only: true }),
    })
  })

  test('is revoked once', async () => {
    const database = await openWorld()
    const id = keys.bob.slice(5, 17)
    const revoke = (id: string) => database.write((runner) => revokeKey(runner, id, actor))
    const { revoked_at, ...revoked } = await revoke(id)
    expect(revoked).toEqual({ id, developer_name: 'Bob' })
    expect(await entriesOf(database, 'key revoke')).toEqual([
      {
        developer_id: 2,
        at: revoked_at,
        before: JSON.stringify({ id, revoked_at: null }),
        after: JSON.stringify({ id, revoked_at }),
      },
    ])
    await expect(revoke(id)).rejects.toThrow(
      `the key apps_${id} was already revoked at ${revoked_at}`,
    )
    await expect(revoke('0'.repeat(12))).rejects.toThrow(/^there is no key apps_0+$/)
    const states = await database.read(
      async (runner) => (await findKeys(runner, undefined, 9, 0)).keys,
    )
    expect(states.map(({ state }) => state).toSorted()).toEqual([
      'active',
      'active',
      'active',
      'expired',
      'revoked',
      'revoked',
    ])
  })

  test('is listed by its developer, then the oldest first, then by id', async () => {
    const { read, write } = await openWorld()
    const [early, late] = ['2020-01-01T00:00:00.000Z', '2020-01-02T00:00:00.000Z']
    await write(async (runner) => {
      for (const [id, name, created_at] of [
        ['zoe', 'Zoe', early],
        ['abe-b', 'Abe', early],
        ['abe-a', 'Abe', early],
        ['abe-0', 'Abe', late],
      ] as const) {
        const { id: developer_id } = await findOrAddDeveloper(runner, name)
        const expires_at = '2999-01-01T00:00:00.000Z'
        await runner
          .sql('api_keys')
          .insert({ id, developer_id, sha256: id, created_at, expires_at })
      }
    })
    const { keys: listed, total } = await read((runner) => findKeys(runner, undefined, 50, 0))
    const ids = listed.map(({ id }) => id)
    expect([total, ids.slice(0, 3), ids.at(-1)]).toEqual([10, ['abe-a', 'abe-b', 'abe-0'], 'zoe'])
    const names = listed.map(({ developer_name }) => developer_name)
    expect(names).toEqual(names.toSorted())
  })
})

describe('a removed developer', () => {
  const idempotencyKey = { key: 'once', body_hash: 'x', app_id: 1, created_at: past }

  const remove = (database: Database, name: string) =>
    database.write((runner) => removeDeveloper(runner, name, actor))

  test.for<{ what: string; name: string; prepare?: (database: Database) => Promise<unknown> }>([
    { what: 'is missing', name: 'Mia' },
    { what: 'has apps and an active key', name: 'Ada' },
    {
      what: 'has an active key',
      name: 'Eve',
      prepare: ({ write }) =>
        write(async (runner) =>
          issueKey(runner, await findOrAddDeveloper(runner, 'Eve'), actor, {
            expiresAt: '2999-01-01T00:00:00.000Z',
          }),
        ),
    },
    {
      what: 'has only a deleted app',
      name: 'Eve',
      prepare: ({ write }) =>
        write(async (runner) => {
          const { id } = await findOrAddDeveloper(runner, 'Eve')
          await runner.sql('apps').where({ id: apps.deleted }).update({ developer_id: id })
        }),
    },
  ])('cannot be one who $what', async ({ name, prepare }) => {
    const database = await openWorld()
    await prepare?.(database)
    await expect(remove(database, name)).rejects.toThrow()
    expect(await entriesOf(database, 'developer remove')).toEqual([])
  })

  test.for<{ state: string; end: (database: Database, id: string, expiresAt: string) => unknown }>([
    {
      state: 'revoked',
      end: ({ write }, id) => write((runner) => revokeKey(runner, id, actor)),
    },
    {
      state: 'expired at this moment',
      end: (_database, _id, expiresAt) => freezeClock(Date.parse(expiresAt)),
    },
  ])('may have a key that is $state; the keys of others stay', async ({ end }) => {
    const database = await openWorld()
    const { read, write } = database
    const expiresAt = '2999-01-01T00:00:00.000Z'
    const { developer, id } = await write(async (runner) => {
      const developer = await findOrAddDeveloper(runner, 'Eve')
      const { id } = await issueKey(runner, developer, actor, { expiresAt })
      // Eve has created an app, which is Ada's now.
      const entry = { action: 'app create', at: past, app_id: 1, after: {} } as const
      const author = { developerId: developer.id, keyId: id }
      await recordEntry(runner, author, { ...entry, developer_id: developer.id })
      for (const developer_id of [developer.id, 1])
        await runner.sql('idempotency_keys').insert({ ...idempotencyKey, developer_id })
      return { developer, id }
    })
    await end(database, id, expiresAt)
    const { keys: before } = await read((runner) => findKeys(runner, undefined, 50, 0))
    expect(await remove(database, ' Eve ')).toEqual({ id: developer.id, name: 'Eve' })
    const { keys: left } = await read((runner) => findKeys(runner, undefined, 50, 0))
    expect(left).toEqual(before.filter((key) => key.id !== id))
    expect(await entriesOf(database, 'developer remove')).toMatchObject([
      { developer_id: developer.id, before: '{"name":"Eve"}', after: '{"name":null}' },
    ])
    expect(await read(({ sql }) => sql('idempotency_keys').pluck('developer_id'))).toEqual([1])
    expect(await read(({ sql }) => sql('audit').where({ key_id: id }))).toHaveLength(1)
    await expectConsistent(database)
  })
})

describe('a renamed developer', () => {
  const rename = (database: Database, from: string, to: string) =>
    database.write((runner) => renameDeveloper(runner, from, to, actor))

  test.for<{ from: string; to: string; message: RegExp }>([
    { from: ' Eve ', to: 'Adam', message: /"Eve"$/ },
    { from: ' Ada ', to: 'Bob', message: /^there is already a developer "Bob"$/ },
    { from: ' Ada ', to: ' Ada', message: /^the developer already has the name "Ada"$/ },
    { from: 'Ada', to: ' ', message: /^a developer name / },
    { from: 'Ada', to: 'a\u202eb', message: /^a developer name / },
  ])('cannot be $from as $to', async ({ from, to, message }) => {
    const database = await openWorld()
    const renamed = rename(database, from, to)
    await expect(renamed).rejects.toMatchObject({ name: 'OperatorError' })
    await expect(renamed).rejects.toThrow(message)
    expect(await findNames(database, 'ada')).toEqual(['Tide Clock'])
  })

  /** More than two batches of the search index. */
  const count = 241

  /** A database with a developer of many approved apps and a pending one. */
  async function prolific() {
    const database = await openWorld()
    const { id, pending } = await database.write(async (runner) => {
      const { id } = await findOrAddDeveloper(runner, 'Prolific')
      const app = {
        developer_id: id,
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
      const listed = { ...app, status: 'approved' as const, approved_at: past }
      const inserts = Array.from({ length: count }, (_, index) => ({
        app: { ...listed, name: `Many ${index % 2}` },
        at: past,
      }))
      await changeApps(runner, 'app import', { inserts }, actor)
      const waiting = { ...app, status: 'pending' as const, approved_at: null, name: 'Waiting' }
      const added = await changeApps(
        runner,
        'app create',
        { inserts: [{ app: waiting, at: past }] },
        actor,
      )
      return { id, pending: added.map((one) => one.id) }
    })
    return { database, id, pending }
  }

  const matches = async (database: Database, search: string) =>
    (await findAppPage(database, { page: 1, limit: 1, search })).total

  test('is found by the new name alone, with all apps, and the progress is reported', async () => {
    const { database, id, pending } = await prolific()
    const progress: [done: number, total: number][] = []
    const renamed = await database.write((runner) =>
      renameDeveloper(runner, ' Prolific', ' Frugal', actor, (...done) => progress.push(done)),
    )
    expect(renamed).toEqual({ id, name: 'Frugal', listed_apps: count })
    expect(progress.length).toBeGreaterThan(1)
    expect(progress.at(-1)).toEqual([count, count])
    expect(new Set(progress.map(([, total]) => total))).toEqual(new Set([count]))
    expect(await matches(database, 'prolific')).toBe(0)
    expect(await matches(database, 'frugal')).toBe(count)
    expect(await matches(database, 'ada')).toBe(1)
    const row = await database.read(({ sql }) => sql('developers').where({ id }).first())
    expect(await entriesOf(database, 'developer rename')).toEqual([
      {
        developer_id: id,
        at: row?.changed_at,
        before: '{"name":"Prolific"}',
        after: '{"name":"Frugal"}',
      },
    ])
    // Apps that are not public yet, once they are, and those of another one with the old name.
    for (const app of pending)
      await database.write((runner) => decideApp(runner, 'approve', app, actor))
    const line = { name: 'Theirs', description: 'New.', category: 'tools', status: 'approved' }
    await importLines(database, [{ ...line, developer_name: 'Prolific' }])
    expect(await findNames(database, 'prolific')).toEqual(['Theirs'])
    expect(await matches(database, 'frugal')).toBe(count + 1)
    await expectConsistent(database)
  })

  test('has the former name if the transaction fails', async () => {
    const { database } = await prolific()
    const stopped = database.write(async (runner) => {
      await renameDeveloper(runner, 'Prolific', 'Frugal', actor)
      throw new Error('stopped')
    })
    await expect(stopped).rejects.toThrow('stopped')
    expect(await matches(database, 'prolific')).toBe(count)
    expect(await matches(database, 'frugal')).toBe(0)
    await expectConsistent(database)
  })
})
