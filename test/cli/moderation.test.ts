import { describe, expect, inject, test } from 'vitest'
import { findApp, saveApp } from '../../src/catalogue/app-store.ts'
import type { Decision } from '../../src/catalogue/policy.ts'
import type { AppChanges } from '../../src/contract/contract.ts'
import { openDatabase } from '../../src/db/database.ts'
import type { AppFilter } from '../../src/moderation/app-filter.ts'
import { type Change, moderationStore } from '../../src/moderation/moderation-store.ts'
import type { Queue } from '../../src/moderation/queue-walk.ts'
import { importLines, setCounters } from '../support/catalogue-file.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { copyWorld, openWorld } from '../support/database.ts'
import { commandLine, serve } from '../support/process.ts'
import { addReviews } from '../support/reviews.ts'
import { type Service, startService } from '../support/service.ts'

const past = '2020-01-01T00:00:00.000Z'
const revision = expect.stringMatching(/^[0-9a-z]{5}$/)
const recent = expect.stringMatching(/^20[2-9]\d-.*Z$/)
const actor = { operator: 'test' }

const queue = (service: Service, name: Queue) =>
  service.database.read((runner) => moderationStore(runner).queue(name, {}, 100, 0))

const put = (service: Service, id: number, json: object) =>
  service.request('PUT', `/apps/${id}`, { key: service.world.keys.ada, json })

describe('the queue', () => {
  const cloudAtlas = {
    id: 2,
    revision,
    name: 'Cloud Atlas',
    slug: 'cloud-atlas',
    short_description: null,
    website_url: null,
    source_code_url: null,
    license: null,
    developer_name: 'Ada',
    category_slug: 'tools',
    created_at: past,
    updated_at: past,
    waiting_since: past,
    waiting_seconds: expect.any(Number),
    changes: [],
    similar: [],
  }
  const nightTrain = {
    ...cloudAtlas,
    id: 6,
    name: 'Night Train',
    slug: 'night-train',
    developer_name: 'Bob',
  }

  test('is printed as JSON and as a table, a page at a time', async () => {
    const cli = commandLine(await copyWorld())
    expect(await cli.json('moderation', 'queue')).toEqual({
      apps: [cloudAtlas, nightTrain],
      pagination: { current_page: 1, total_pages: 1, per_page: 10_000, total: 2 },
    })
    expect(await cli.json('moderation', 'queue', '--limit', '1', '--page', '2')).toEqual({
      apps: [nightTrain],
      pagination: { current_page: 2, total_pages: 2, per_page: 1, total: 2 },
    })
    const first = await cli.run('moderation', 'queue', '--limit', '1')
    expect(first.stdout).toMatch(
      /^ID +NAME +DEVELOPER +CATEGORY +WAITED +UPDATED\n2@[0-9a-z]{5} {2}Cloud Atlas +Ada +tools +\d+d +\d+d\n$/,
    )
    const [shown = ''] = /2@\w+/.exec(first.stdout) ?? []
    expect(first.stderr).toBe(
      `A decision on ${shown} is refused if the app has changed since; one on 2 is not.\nPage 1 of 2, 2 in all.\n`,
    )
    expect(await cli.run('moderation', 'queue', '--page', '9')).toMatchObject({
      stdout: '',
      stderr: 'Page 9 of 1, 2 in all.\n',
    })
    expect(await cli.run('moderation', 'queue', '--changed', '--limit', '1000')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No apps.\n',
    })
    expect(await cli.json('moderation', 'queue', '--changed')).toMatchObject({
      apps: [],
    })
  })

  test('says how many seconds a new app has waited, and a changed one since its change', async () => {
    const service = await startService()
    const { approved, pending } = service.world.apps
    await put(service, approved, { version: '2' })
    await put(service, pending, { version: '2' })
    const changedAt = '2026-03-01T00:00:00.000Z'
    await service.database.write(({ sql }) =>
      sql('apps').where({ id: approved }).update({ unreviewed_since: changedAt }),
    )
    freezeClock(Date.parse(changedAt) + 90_000)
    const cli = commandLine(service.databaseUrl)
    const waited = async (...options: string[]) => {
      const { apps } = await cli.json('moderation', 'queue', ...options)
      return [apps[0].id, apps[0].waiting_since, apps[0].waiting_seconds]
    }
    expect(await waited('--changed')).toEqual([approved, changedAt, 90])
    const sinceCreation = (Date.parse(changedAt) - Date.parse(past)) / 1000 + 90
    expect(await waited()).toEqual([pending, past, sinceCreation])
  })

  test('has short descriptions', async () => {
    const service = await startService()
    await put(service, service.world.apps.pending, {
      short_description: 'Seen from above, in all weathers',
    })
    const cli = commandLine(service.databaseUrl)
    expect((await cli.run('moderation', 'queue')).stdout.split('\n')).toEqual([
      expect.stringMatching(/ {2}UPDATED$/),
      expect.stringMatching(/^2@\w+ .* {2}\d+m?s$/),
      '    Seen from above, in all weathers',
      expect.stringMatching(/^6@\w+ .* {2}\d+d$/),
      '',
    ])
    expect((await cli.json('moderation', 'queue')).apps[0].short_description).toBe(
      'Seen from above, in all weathers',
    )
  })

  test('has addresses as browsers send them, and licences', async () => {
    const service = await startService()
    const fields = {
      website_url: 'https://bücher.example/',
      source_code_url: `https://xn--bcher-kva.example/${'x'.repeat(100)}`,
      license: 'MIT',
    }
    await put(service, service.world.apps.pending, fields)
    const cli = commandLine(service.databaseUrl)
    expect((await cli.run('moderation', 'queue')).stdout.split('\n').slice(2, -2)).toEqual([
      '    website_url: https://xn--bcher-kva.example/ (bücher.example)',
      `    source_code_url: https://xn--bcher-kva.example/${'x'.repeat(11)}… (bücher.example)`,
      '    license: MIT',
    ])
    expect((await cli.json('moderation', 'queue')).apps[0]).toMatchObject(fields)
  })

  test.for<[what: string, before: string, after: string, lines: string[]]>([
    [
      'a host with another letter',
      'https://example.org/',
      'https://exarnple.org/',
      ['website_url: https://example.org/', '→ https://exarnple.org/'],
    ],
    [
      'a host with a Cyrillic letter',
      'https://example.org/',
      'https://ex\u0430mple.org/',
      ['website_url: https://example.org/', '→ https://xn--exmple-4nf.org/ (ex\u0430mple.org)'],
    ],
    [
      'the host of a long address',
      `https://example.org/${'x'.repeat(100)}`,
      `https://ex\u0430mple.org/${'x'.repeat(100)}`,
      [
        `website_url: https://example.org/${'x'.repeat(42)}…`,
        `→ https://xn--exmple-4nf.org/${'x'.repeat(21)}… (ex\u0430mple.org)`,
      ],
    ],
    [
      'the end of a long path',
      `https://example.org/${'x'.repeat(100)}y`,
      `https://example.org/${'x'.repeat(100)}z`,
      [`website_url: https://example.org/${'x'.repeat(42)}…`, '→ changed further on'],
    ],
    [
      'another form of the same address',
      'https://bücher.example',
      'https://xn--bcher-kva.example/',
      [
        'website_url: https://xn--bcher-kva.example/ (bücher.example)',
        '→ https://xn--bcher-kva.example/ (bücher.example)',
      ],
    ],
    [
      'long hosts, whole',
      `https://${'bank.example.'.repeat(12)}good.example/`,
      `https://${'bank.example.'.repeat(12)}evil.example/a`,
      [
        `website_url: https://${'bank.example.'.repeat(12)}good.example…`,
        `→ https://${'bank.example.'.repeat(12)}evil.example…`,
      ],
    ],
    ['no address', 'https://example.org/', '', ['website_url: https://example.org/', '→ (none)']],
  ])('of changed apps has a line for each address: %s', async ([, before, after, lines]) => {
    const service = await startService()
    await put(service, 1, { website_url: before })
    await service.decide('approve', 1)
    await put(service, 1, { website_url: after })
    const cli = commandLine(service.databaseUrl)
    const { stdout } = await cli.run('moderation', 'queue', '--changed')
    expect(stdout.split('\n').slice(2, -1)).toEqual(lines.map((line) => `    ${line}`))
  })

  test.for<[what: string, filter: AppFilter, found: string[]]>([
    ['a developer', { developer: ' Bob ' }, ['Night Train']],
    ['a category', { category: 'tools' }, ['Cloud Atlas', 'Night Train']],
    ['an empty category', { category: 'games' }, []],
    ['both filters', { developer: 'Ada', category: 'tools' }, ['Cloud Atlas']],
  ])('filtered by %s', async ([, filter, found]) => {
    const { database } = await startService()
    const { apps, total } = await database.snapshot((runner) =>
      moderationStore(runner).queue('pending', filter, 100, 0),
    )
    expect([apps.map(({ name }) => name), total]).toEqual([found, found.length])
  })

  test('of changed apps is filtered and paged', async () => {
    const service = await startService()
    const { apps, keys } = service.world
    await put(service, apps.approved, { name: 'Moon Dial' })
    await service.request('PUT', `/apps/${apps.bobs}`, {
      key: keys.bob,
      json: { name: 'Moon Song' },
    })
    const cli = commandLine(service.databaseUrl)
    const found = async (...options: string[]) => {
      const { apps, pagination } = await cli.json('moderation', 'queue', '--changed', ...options)
      return [apps.map(({ name }: { name: string }) => name), pagination.total]
    }
    expect(await found('--developer', 'Bob', '--category', 'games')).toEqual([['Moon Song'], 1])
    expect(await found('--limit', '1', '--page', '2')).toEqual([['Moon Song'], 2])
  })

  test('of a missing developer or category is refused', async () => {
    const cli = commandLine(await copyWorld())
    const refused = { code: 1, stdout: '' }
    expect(await cli.run('moderation', 'queue', '--developer', 'Eve')).toEqual({
      ...refused,
      stderr: 'apps-service: there is no developer "Eve"\n',
    })
    expect(await cli.run('app', 'list', '--category', 'none')).toEqual({
      ...refused,
      stderr: 'apps-service: there is no category with the slug none\n',
    })
  })

  test('a rejection reviews what the owner had changed before it', async () => {
    const service = await startService()
    const { approved } = service.world.apps
    await put(service, approved, { name: 'Moon Dial' })
    await service.decide('reject', approved)
    const later = new Date(freezeClock(Date.now() + 60_000)).toISOString()
    await put(service, approved, { description: 'It shows the moon.' })
    const { apps } = await queue(service, 'pending')
    expect(apps.find(({ id }) => id === approved)).toMatchObject({
      waiting_since: later,
      changes: [
        { field: 'description', before: 'Tide Clock is here.', after: 'It shows the moon.' },
      ],
    })
  })

  test('a rejected app that was updated waits from then on, behind the others', async () => {
    const service = await startService()
    const { apps } = service.world
    await service.database.write(({ sql }) =>
      sql('apps').where({ id: apps.rejected }).update({ updated_at: past }),
    )
    await put(service, apps.rejected, { description: 'It points north.' })
    await put(service, apps.pending, { description: 'More clouds.' })
    const { apps: waiting } = await queue(service, 'pending')
    expect(waiting.map(({ id, waiting_since }) => [id, waiting_since])).toEqual([
      [apps.pending, past],
      [apps.bobsPending, past],
      [apps.rejected, recent],
    ])
    expect(waiting[2]?.waiting_since.slice(0, 4)).not.toBe('2020')
    expect(waiting.map(({ changes }) => changes)).toEqual([
      [],
      [],
      [{ field: 'description', before: 'Broken Compass is here.', after: 'It points north.' }],
    ])
  })

  test.for<
    [
      what: string,
      app: 'approved' | 'pending' | 'rejected',
      steps: (Decision | AppChanges)[],
      /** What waits in the end, since which step, and the changes. */
      waits: [queue: Queue, since: number | 'creation', ...[string, string, string][]],
    ]
  >([
    [
      'a rejected app with two updates: both',
      'rejected',
      [{ name: 'North' }, { version: '2' }],
      ['pending', 0, ['name', 'Broken Compass', 'North'], ['version', '1.0.0', '2']],
    ],
    [
      'a rejected app with two updates of one field: from the rejected value',
      'rejected',
      [{ version: '2' }, { version: '3' }],
      ['pending', 0, ['version', '1.0.0', '3']],
    ],
    [
      'a new app with two updates: none, since nobody has seen it',
      'pending',
      [{ name: 'Fog' }, { version: '2' }],
      ['pending', 'creation'],
    ],
    [
      'a new app that is updated, rejected, and updated twice: those since the rejection',
      'pending',
      [{ name: 'Fog' }, 'reject', { version: '2' }, { name: 'Mist' }],
      ['pending', 2, ['name', 'Fog', 'Mist'], ['version', '1.0.0', '2']],
    ],
    [
      'an app that is rejected twice: those since the second rejection',
      'rejected',
      [{ version: '2' }, 'reject', { name: 'North' }],
      ['pending', 2, ['name', 'Broken Compass', 'North']],
    ],
    [
      'a rejected app that is updated, approved, and updated twice: those since the approval',
      'rejected',
      [{ name: 'North' }, 'approve', { name: 'South' }, { version: '2' }],
      ['changed', 2, ['name', 'North', 'South'], ['version', '1.0.0', '2']],
    ],
    [
      'an approved app with two updates: both, since the first',
      'approved',
      [{ version: '2' }, { version: '3' }],
      ['changed', 0, ['version', '1.0.0', '3']],
    ],
    [
      'an approved app whose changes were approved: those since then',
      'approved',
      [{ version: '2' }, 'approve', { version: '3' }],
      ['changed', 2, ['version', '2', '3']],
    ],
  ])('has the changes of %s', async ([, which, steps, [name, since, ...changes]]) => {
    const service = await startService()
    const id = service.world.apps[which]
    const begin = Date.now()
    const at = (step: number) => freezeClock(begin + (step + 1) * 60_000)
    for (const [index, step] of steps.entries()) {
      at(index)
      if (typeof step === 'string') await service.decide(step, id)
      else expect((await put(service, id, step)).status).toBe(200)
    }
    const waiting = (await queue(service, name)).apps.find((app) => app.id === id)
    expect([waiting?.waiting_since, waiting?.changes]).toEqual([
      since === 'creation' ? past : new Date(at(since)).toISOString(),
      changes.map(([field, before, after]) => ({ field, before, after })),
    ])
  })

  test('has the changes of an approved app since the last decision', async () => {
    const service = await startService()
    const { apps, categories } = service.world
    const changes = async () =>
      (await queue(service, 'changed')).apps.map((app) => [app.id, app.changes])
    expect(await changes()).toEqual([])

    // Only the difference between the first value and the last one counts.
    for (let number = 1; number <= 30; number++)
      await put(service, apps.approved, { name: `Tide Clock ${number}` })
    await put(service, apps.approved, {
      short_description: '',
      category_id: categories.games,
      package_name: 'org.example.tides',
    })
    await put(service, apps.approved, { version: '2', package_name: 'org.example.tideclock' })
    expect(await changes()).toEqual([
      [
        apps.approved,
        [
          { field: 'name', before: 'Tide Clock', after: 'Tide Clock 30' },
          { field: 'short_description', before: 'High and low water', after: null },
          { field: 'version', before: '1.0.0', after: '2' },
          { field: 'category', before: 'tools', after: 'games' },
        ],
      ],
    ])

    // After an approval, the difference to the approved values counts.
    await service.decide('approve', apps.approved)
    expect(await changes()).toEqual([])
    await put(service, apps.approved, { name: 'Tide Table' })
    const changed: Change[] = [{ field: 'name', before: 'Tide Clock 30', after: 'Tide Table' }]
    expect(await changes()).toEqual([[apps.approved, changed]])
    await put(service, apps.approved, { name: 'Tide Clock 30' })
    expect(await changes()).toEqual([[apps.approved, []]])

    // Rejected and deleted apps are not in the queue.
    await service.decide('reject', apps.approved)
    expect(await changes()).toEqual([])
    await put(service, apps.bobs, { name: 'Not mine' })
    const bob = { key: service.world.keys.bob }
    await service.request('PUT', `/apps/${apps.bobs}`, { ...bob, json: { name: 'Birds' } })
    expect(await changes()).toEqual([
      [apps.bobs, [{ field: 'name', before: 'Bird Song', after: 'Birds' }]],
    ])
    await service.request('DELETE', `/apps/${apps.bobs}`, bob)
    expect(await changes()).toEqual([])
  })

  test('has the changes of the owner, not those of an import', async () => {
    const service = await startService()
    const { apps } = service.world
    await put(service, apps.approved, { version: '2', name: 'Tide Clock' })
    await service.database.write(async (runner) => {
      const app = await findApp(runner, apps.approved)
      if (app) await saveApp(runner, 'app import', app, { name: 'Tide Table' }, actor)
    })
    const [waiting] = (await queue(service, 'changed')).apps
    expect(waiting).toMatchObject({
      name: 'Tide Table',
      changes: [{ field: 'version', before: '1.0.0', after: '2' }],
    })
  })

  /**
   * What the owner of the approved app changes, how it is shown, and a search that finds it then.
   */
  const updates: Record<keyof AppChanges, { to: string | number; change: Change; finds: string }> =
    {
      name: {
        to: 'Ebb Table',
        change: { field: 'name', before: 'Tide Clock', after: 'Ebb Table' },
        finds: 'search=ebb+table',
      },
      short_description: {
        to: 'Moon and shore',
        change: {
          field: 'short_description',
          before: 'High and low water',
          after: 'Moon and shore',
        },
        finds: 'search=tide+shore',
      },
      description: {
        to: 'It shows the ocean.',
        change: {
          field: 'description',
          before: 'Tide Clock is here.',
          after: 'It shows the ocean.',
        },
        finds: 'search=tide+ocean',
      },
      category_id: {
        to: 2,
        change: { field: 'category', before: 'tools', after: 'games' },
        finds: 'search=tide&category=games',
      },
      version: {
        to: '2',
        change: { field: 'version', before: '1.0.0', after: '2' },
        finds: 'search=tide',
      },
      package_name: {
        to: 'com.example.almanac',
        change: {
          field: 'package_name',
          before: 'org.example.tideclock',
          after: 'com.example.almanac',
        },
        finds: 'search=tide+almanac',
      },
      website_url: {
        to: 'https://tides.example/',
        change: {
          field: 'website_url',
          before: 'https://tideclock.example.org/',
          after: 'https://tides.example/',
        },
        finds: 'search=tide',
      },
      source_code_url: {
        to: 'https://code.example.net/tides',
        change: {
          field: 'source_code_url',
          before: 'https://code.example.org/tide-clock',
          after: 'https://code.example.net/tides',
        },
        finds: 'search=tide',
      },
      license: {
        to: 'GPL-3.0-only',
        change: { field: 'license', before: 'MIT', after: 'GPL-3.0-only' },
        finds: 'search=tide',
      },
    }
  test.for(Object.entries(updates))(
    'shows an update of %s, as audit and search do',
    async ([field, own]) => {
      const service = await startService()
      const { apps } = service.world
      // All updates happen in the same millisecond.
      freezeClock()
      await put(service, apps.approved, { [field]: own.to })
      const { apps: changed } = await queue(service, 'changed')
      expect(changed.map(({ id, changes }) => [id, changes])).toEqual([
        [apps.approved, [own.change]],
      ])

      const [entry] = await service.database.read(({ sql }) =>
        sql('audit').orderBy('id', 'desc').limit(1),
      )
      const [before, after] = [entry?.before, entry?.after].map((text) => JSON.parse(text ?? '{}'))
      expect([Object.keys(before), after]).toEqual([[field], { [field]: own.to }])

      const found = async (query: string) =>
        (await service.get(`/apps?${query}`)).body.data.apps.map(({ id }: { id: number }) => id)
      expect(await found(own.finds)).toEqual([apps.approved])
      await expectConsistent(service.database)
    },
  )

  test('shows changes from the first difference, and whole as JSON', async () => {
    const address = await copyWorld()
    const server = await serve(address)
    const { keys, apps } = inject('world')
    const before = `Tide Clock is here.${' It shows the water.'.repeat(20)}`
    const write = (json: object) =>
      server.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
    const cli = commandLine(address)
    await write({ description: before })
    await cli.run('moderation', 'approve', '1')
    await write({ description: `${before} And ads.`, name: 'Tide Clock!' })
    // Names from before the rule may have bidirectional controls, which could disguise them.
    const database = openDatabase(address)
    const name = 'Tide \u202eClock\u2066'
    await database.write(({ sql }) => sql('apps').where({ id: apps.approved }).update({ name }))
    await database.close()
    const shown = await cli.run('moderation', 'queue', '--changed')
    expect(shown.stdout.split('\n').slice(1)).toEqual([
      expect.stringMatching(/^1@\w+ {2}Tide \uFFFDClock\uFFFD +Ada +tools +\d+m?s +\d+m?s$/),
      '    name: Tide Clock → Tide \uFFFDClock\uFFFD',
      '    description: …e water. → …e water. And ads.',
      '',
    ])
    expect((await cli.json('moderation', 'queue', '--changed')).apps[0].changes).toEqual([
      { field: 'name', before: 'Tide Clock', after: name },
      { field: 'description', before, after: `${before} And ads.` },
    ])
  })
})

describe('moderation show', () => {
  test('prints JSON', async () => {
    const cli = commandLine(await copyWorld())
    const entry = {
      operator_name: null,
      operator_id: null,
      key_id: null,
      app_slug: 'tide-clock',
      app_name: 'Tide Clock',
      category_id: null,
      category_slug: null,
    }
    const subject = { app_id: 1, developer_id: 1, developer_name: 'Ada', operator: 'world' }
    expect(await cli.json('moderation', 'show', '1')).toEqual({
      id: 1,
      revision,
      slug: 'tide-clock',
      name: 'Tide Clock',
      short_description: 'High and low water',
      description: 'Tide Clock is here.',
      version: '1.0.0',
      package_name: 'org.example.tideclock',
      website_url: 'https://tideclock.example.org/',
      source_code_url: 'https://code.example.org/tide-clock',
      license: 'MIT',
      status: 'approved',
      rejection_reason: null,
      deleted_at: null,
      unreviewed_since: null,
      created_at: past,
      updated_at: recent,
      approved_at: recent,
      total_downloads: 100,
      average_rating: 4.67,
      rating_count: 3,
      review_count: 3,
      category: { id: 1, slug: 'tools', name: 'Tools' },
      developer: {
        id: 1,
        name: 'Ada',
        created_at: recent,
        active_keys: 1,
        apps: { pending: 1, approved: 1, rejected: 1, deleted: 1 },
      },
      similar: [],
      changes: [],
      history: [
        {
          ...entry,
          ...subject,
          id: expect.any(Number),
          at: past,
          action: 'app create',
          before: null,
          after: expect.objectContaining({
            name: 'Tide Clock',
            status: 'pending',
            developer_id: 1,
          }),
        },
        {
          ...entry,
          ...subject,
          id: expect.any(Number),
          at: recent,
          action: 'app approve',
          before: expect.objectContaining({ status: 'pending' }),
          after: expect.objectContaining({ status: 'approved' }),
        },
      ],
    })
  })

  test('prints deleted and rejected apps, too', async () => {
    const cli = commandLine(await copyWorld())
    const shown = await cli.run('moderation', 'show', '3')
    expect(shown.stderr).toBe('')
    expect(shown.stdout).toMatch(
      /^App +3@\w+ \(broken-compass\)\nStatus +rejected\nReason +It points south\.\n/,
    )
    expect(shown.stdout).toMatch(/\nDeveloper +Ada: 1 pending, 1 approved, 1 rejected, 1 deleted\n/)
    expect(shown.stdout).toMatch(
      /\n\nBroken Compass is here\.\n\nHistory\n\nWHEN \(UTC\) +WHO +WHAT\n/,
    )
    expect(shown.stdout).toMatch(
      /world +app reject\n {4}status: pending → rejected; rejection_reason: – → It points/,
    )
    expect((await cli.run('moderation', 'show', '4')).stdout).toMatch(
      /\nStatus +approved, deleted at 2020-01-01T/,
    )
    expect(await cli.run('moderation', 'show', '99')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'apps-service: there is no app 99\n',
    })
  })

  test('prints JSON, and nothing for a missing app', async () => {
    const cli = commandLine(await copyWorld())
    expect(await cli.json('moderation', 'show', '2')).toMatchObject({
      id: 2,
      history: [{ action: 'app create' }],
    })
    expect(await cli.run('moderation', 'show', '99', '--json')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'apps-service: there is no app 99\n',
    })
  })

  test('prints whole changes', async () => {
    const service = await startService()
    await put(service, service.world.apps.approved, {
      description: 'One.\nTwo.',
      short_description: '',
    })
    const shown = await commandLine(service.databaseUrl).run('moderation', 'show', '1')
    expect(shown.stdout).toContain(`
Changed since the last decision

  short_description
  - High and low water
  + (none)

  description
  - Tide Clock is here.
  + One.
  + Two.
`)
  })
})

describe('a decision', () => {
  type App = keyof ReturnType<typeof worldApps>
  const worldApps = () => inject('world').apps

  test.for<[decision: Decision, app: App, refusal?: string]>([
    ['approve', 'pending'],
    ['approve', 'rejected'],
    ['approve', 'approved', 'app 1 is already approved'],
    ['approve', 'deleted', 'app 4 is deleted now; it must be restored first'],
    ['reject', 'pending'],
    ['reject', 'approved'],
    ['reject', 'rejected', 'app 3 is already rejected'],
    ['reject', 'deleted', 'app 4 is deleted now; it must be restored first'],
  ])('%s, where the app is %s', async ([decision, app, refusal]) => {
    const database = await openWorld()
    const id = worldApps()[app]
    const decided = database.write((runner) =>
      moderationStore(runner).decide(decision, id, actor, { reason: 'Because.' }),
    )
    if (refusal)
      await expect(decided).rejects.toMatchObject({ name: 'OperatorError', message: refusal })
    else
      expect(await decided).toMatchObject({
        id,
        status: decision === 'approve' ? 'approved' : 'rejected',
      })
  })

  test.for<[what: string, reason: string | undefined, isTaken: boolean]>([
    ['of one character', '.', true],
    ['left out', undefined, false],
    [
      'of 1000 characters beyond the basic plane, and white space around them',
      ` ${'𠮷'.repeat(1000)}\n`,
      true,
    ],
    ['of 1001 characters', 'x'.repeat(1001), false],
    ['of white space', ' \n', false],
    ['with line breaks and tabs', 'One.\r\n\tTwo.', true],
    ['with half a surrogate pair', 'x\ud83d', false],
  ])('a rejection with a reason %s', async ([, reason, isTaken]) => {
    const database = await openWorld()
    const decided = database.write((runner) =>
      moderationStore(runner).decide('reject', worldApps().pending, actor, { reason }),
    )
    if (isTaken) {
      await decided
      const app = await database.read((runner) => findApp(runner, worldApps().pending))
      expect(app?.rejection_reason).toBe(reason?.trim())
      // The app was never approved.
      expect(app?.approved_at).toBe(null)
    } else
      await expect(decided).rejects.toThrow(
        /^a reason must (have 1 to 1000 characters, not \d+|not have the character U\+D83D \(half of a surrogate pair\))$/,
      )
  })

  test('is taken for each of several apps once, in their order', async () => {
    const cli = commandLine(await copyWorld())
    const approved = await cli.run('moderation', 'approve', '6', '99', '2', '6', '1')
    expect(approved).toEqual({
      code: 1,
      stdout: expect.stringMatching(
        /^App 6 \(night-train\) is approved now: .*\nApp 2 \(cloud-atlas\) is .*\n$/,
      ),
      stderr: 'apps-service: there is no app 99\napps-service: app 1 is already approved\n',
    })
    const rejected = await cli.run(
      'moderation',
      'reject',
      '6',
      '3',
      '--reason',
      ' Too dark. ',
      '--json',
    )
    expect(rejected).toMatchObject({ code: 1, stderr: 'apps-service: app 3 is already rejected\n' })
    expect(JSON.parse(rejected.stdout)).toEqual([
      { id: 6, slug: 'night-train', status: 'rejected' },
      { id: 3, error: 'app 3 is already rejected' },
    ])
    expect((await cli.json('moderation', 'show', '6')).rejection_reason).toBe('Too dark.')
  })

  test('without a valid reason changes nothing', async () => {
    const cli = commandLine(await copyWorld())
    for (const [reason, problem] of [
      ['', 'must have 1 to 1000 characters, not 0'],
      [' \n ', 'must have 1 to 1000 characters, not 0'],
      ['\u200b', 'must have a visible character'],
      ['x'.repeat(1001), 'must have 1 to 1000 characters, not 1001'],
      ['No.\u001b[2J', 'must not have the character U+001B (control character)'],
    ] as const) {
      const { code, stdout, stderr } = await cli.run(
        'moderation',
        'reject',
        '2',
        '6',
        '99',
        '--reason',
        reason,
      )
      expect([code, stdout, stderr]).toEqual([2, '', `apps-service: a reason ${problem}\n`])
    }
    // A terminal that does not write UTF-8.
    const garbled = await cli.run('moderation', 'reject', '2', '--reason', 'Gr\uFFFD\uFFFDe')
    expect([garbled.code, garbled.stderr]).toEqual([
      2,
      expect.stringContaining('a reason must be valid UTF-8'),
    ])
    expect((await cli.json('moderation', 'queue')).pagination.total).toBe(2)
  })

  test('is taken once for each id, in the given order, or for none if one is not an id', async () => {
    const cli = commandLine(await copyWorld())
    const bad = await cli.run('moderation', 'approve', '2', '0x6')
    expect(bad).toMatchObject({ code: 2, stdout: '' })
    for (const id of ['2@', '@k3f9a', '2@K3F9A', '2@k3 f9'])
      expect(await cli.run('moderation', 'approve', id)).toMatchObject({ code: 2, stdout: '' })
    const approved = await cli.json('moderation', 'approve', '2', '6', '2', '3')
    expect(approved.map(({ id }: { id: number }) => id)).toEqual([2, 6, 3])
  })

  test('confirms the name that the app has, and when it last changed', async () => {
    const service = await startService()
    await put(service, service.world.apps.pending, { name: 'Bank "Login"' })
    const { stdout } = await commandLine(service.databaseUrl).run('moderation', 'approve', '2')
    expect(stdout).toMatch(
      /^App 2 \(cloud-atlas\) is approved now: "Bank \\"Login\\"", last changed \d+m?s ago\.\n$/,
    )
  })

  const reject = ['--reason', 'Because.']
  test.for<
    [
      what: string,
      command: string[],
      app: App,
      change: (service: Service, id: number) => Promise<unknown>,
    ]
  >([
    [
      'an approval',
      ['moderation', 'approve'],
      'pending',
      (service, id) => put(service, id, { name: 'Bank Login' }),
    ],
    [
      'a rejection',
      ['moderation', 'reject', ...reject],
      'approved',
      (service, id) => put(service, id, { description: 'Better.' }),
    ],
    [
      'an acceptance of changes',
      ['moderation', 'approve'],
      'approved',
      async (service, id) => {
        for (const name of ['Tide Table', 'Tide Clock']) await put(service, id, { name })
      },
    ],
    [
      'a decision after another one',
      ['moderation', 'reject', ...reject],
      'pending',
      (service, id) => service.decide('approve', id),
    ],
    [
      'a decision after an import',
      ['moderation', 'approve'],
      'pending',
      ({ database }) =>
        importLines(database, [
          {
            name: 'Cloud Atlas',
            description: 'New.',
            category: 'tools',
            developer_name: 'Ada',
            updated_at: past,
          },
        ]),
    ],
    [
      'a restore',
      ['app', 'restore'],
      'deleted',
      ({ database }, id) =>
        database.write(async (runner) => {
          await moderationStore(runner).restore(id, actor)
          const restored = await findApp(runner, id)
          if (restored) await saveApp(runner, 'app delete', restored, { deleted_at: past }, actor)
        }),
    ],
  ])(
    'on a revision is refused if the app has changed since: %s',
    async ([, command, app, change]) => {
      const service = await startService()
      const cli = commandLine(service.databaseUrl)
      const id = worldApps()[app]
      const shown = async () =>
        /^App +(\S+)/.exec((await cli.run('moderation', 'show', String(id))).stdout)?.[1] ?? ''
      const seen = await shown()
      expect(seen).toMatch(/^\d@[0-9a-z]{5}$/)
      await change(service, id)
      const before = await cli.json('moderation', 'show', String(id))
      expect(await cli.run(...command, seen)).toEqual({
        code: 1,
        stdout: '',
        stderr: `apps-service: app ${id} has changed since revision ${seen.slice(2)}; look at it again\n`,
      })
      expect(await cli.json('moderation', 'show', String(id))).toEqual(before)
      expect(await cli.run(...command, await shown())).toMatchObject({ code: 0, stderr: '' })
    },
  )

  test('on a revision is taken if only reviews, downloads and ratings have changed', async () => {
    const { database, databaseUrl } = await startService()
    const { pending } = worldApps()
    const cli = commandLine(databaseUrl)
    const { revision: seen } = await cli.json('moderation', 'show', String(pending))
    await setCounters(database, [
      { slug: 'cloud-atlas', total_downloads: 7, average_rating: 5, rating_count: 1 },
    ])
    await database.write((runner) =>
      addReviews(runner, [
        { app_id: pending, reviewer_name: 'Cy', rating: 1, comment: '', created_at: past },
      ]),
    )
    expect(await cli.json('moderation', 'show', String(pending))).toMatchObject({
      total_downloads: 7,
      review_count: 1,
    })
    expect((await cli.run('moderation', 'approve', `${pending}@${seen}`)).code).toBe(0)
  })

  test('and a concurrent update both succeed', async () => {
    const service = await startService()
    const { apps } = service.world
    for (let round = 1; round <= 20; round++) {
      const decision = round % 2 ? 'approve' : 'reject'
      const [reply] = await Promise.all([
        put(service, apps.pending, { version: String(round) }),
        service.decide(decision, apps.pending),
      ])
      expect(reply.status).toBe(200)
      const app = (await service.get(`/apps/${apps.pending}`, { key: service.world.keys.ada })).body
        .data.app
      expect(app.version).toBe(String(round))
      // An update after a rejection makes the app pending again.
      expect(decision === 'approve' ? ['approved'] : ['rejected', 'pending']).toContain(app.status)
    }
  })

  test('that accepts changes is audited, and changes no response', async () => {
    const service = await startService()
    const { apps } = service.world
    await put(service, apps.approved, { name: 'Tide Table' })
    const before = (await service.get(`/apps/${apps.approved}`)).body.data.app
    await service.decide('approve', apps.approved)
    const { updated_at, ...after } = (await service.get(`/apps/${apps.approved}`)).body.data.app
    expect({ ...after, updated_at: before.updated_at }).toEqual(before)
    expect(updated_at > before.updated_at).toBe(true)
    const { history } = await service.database.read((runner) =>
      moderationStore(runner).reviewDetails(apps.approved, 1, (entry) => entry),
    )
    expect(history).toEqual([
      // To toMatchObject, any object is {}.
      expect.objectContaining({ action: 'app approve', operator: 'test', before: {}, after: {} }),
    ])
  })
})

describe('printed for people,', () => {
  test('an app has all its fields', async () => {
    const { database, databaseUrl } = await startService()
    const time = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()
    const line = {
      name: 'Star Map',
      slug: 'star-map',
      short_description: 'Stars.',
      description: 'The sky.\nAll of it.',
      category: 'tools',
      developer_name: 'Grace',
      package_name: 'org.example.stars',
      version: '2',
      website_url: 'https://stars.example/',
      source_code_url: 'https://code.example/stars',
      license: 'MIT',
      status: 'approved',
      total_downloads: 1234,
      average_rating: 4.5,
      rating_count: 10,
      created_at: time(1),
      approved_at: time(2),
      updated_at: time(3),
      reviews: [{ reviewer_name: 'Cy', rating: 4, comment: 'Fine.', created_at: time(2) }],
    }
    await importLines(database, [line])
    const unreviewed_changes = JSON.stringify({
      name: 'Moon Map',
      short_description: null,
      category_id: 2,
    })
    await database.write(({ sql }) =>
      sql('apps')
        .where({ id: 7 })
        .update({ unreviewed_since: time(3), unreviewed_changes }),
    )
    const { stdout } = await commandLine(databaseUrl).run('moderation', 'show', '7')
    expect(stdout.split('\n').slice(0, -5)).toEqual([
      expect.stringMatching(/^App {13}7@\w+ \(star-map\)$/),
      'Status          approved',
      'Changed since   2026-01-03T00:00:00.000Z',
      'Name            Star Map',
      'Version         2',
      'Package name    org.example.stars',
      'Website         https://stars.example/',
      'Source code     https://code.example/stars',
      'Licence         MIT',
      'Category        Tools (tools)',
      'Developer       Grace: 0 pending, 1 approved, 0 rejected, 0 deleted',
      'Downloads       1234',
      'Ratings         11, 4.45 on average',
      'Reviews         1',
      'Created         2026-01-01T00:00:00.000Z',
      'First approved  2026-01-02T00:00:00.000Z',
      'Updated         2026-01-03T00:00:00.000Z',
      'In short        Stars.',
      '',
      'The sky.',
      'All of it.',
      '',
      'Changed since the last decision',
      '',
      '  name',
      '  - Moon Map',
      '  + Star Map',
      '',
      '  short_description',
      '  - (none)',
      '  + Stars.',
      '',
      '  category',
      '  - games',
      '  + tools',
      '',
      'History',
      '',
      'WHEN (UTC)        WHO   WHAT',
    ])
    // A new column of the owner's does not compile until its value is here.
    const ownerValues: Record<keyof AppChanges, string> = {
      name: line.name,
      short_description: line.short_description,
      description: line.description,
      category_id: 'Tools (tools)',
      version: line.version,
      package_name: line.package_name,
      website_url: line.website_url,
      source_code_url: line.source_code_url,
      license: line.license,
    }
    for (const value of Object.values(ownerValues)) expect(stdout).toContain(value)
    const unrated = await commandLine(databaseUrl).run('moderation', 'show', '2')
    expect(unrated.stdout).toContain(
      '\nDownloads       0\nRatings         none\nReviews         0\n',
    )
  })

  test('an app’s addresses are as browsers send them; JSON has them as they were sent', async () => {
    const service = await startService()
    const cli = commandLine(service.databaseUrl)
    const before = { website_url: 'https://example.org/', source_code_url: '' }
    await put(service, 1, before)
    await service.decide('approve', 1)
    const website_url = 'https://ex\u0430mple.org/'
    const source_code_url = 'https://xn--bcher-kva.example/a'
    await put(service, 1, { website_url, source_code_url })
    const { stdout } = await cli.run('moderation', 'show', '1')
    for (const text of [
      '\nWebsite         https://xn--exmple-4nf.org/ (ex\u0430mple.org)\n',
      '\nSource code     https://xn--bcher-kva.example/a (bücher.example)\n',
      '\n  website_url\n  - https://example.org/\n  + https://xn--exmple-4nf.org/ (ex\u0430mple.org)\n',
      '\n  source_code_url\n  - (none)\n  + https://xn--bcher-kva.example/a (bücher.example)\n',
      '\n    website_url: https://example.org/\n    → https://xn--exmple-4nf.org/ (ex\u0430mple.org)\n',
    ])
      expect(stdout).toContain(text)
    const { changes, ...fields } = await cli.json('moderation', 'show', '1')
    expect(fields).toMatchObject({ website_url, source_code_url })
    expect(changes).toEqual([
      { field: 'website_url', before: 'https://example.org/', after: website_url },
      { field: 'source_code_url', before: null, after: source_code_url },
    ])
  })

  test('an app that was changed and changed back is still in the queue', async () => {
    const service = await startService()
    for (const name of ['Tide Table', 'Tide Clock']) await put(service, 1, { name })
    const { stdout } = await commandLine(service.databaseUrl).run(
      'moderation',
      'queue',
      '--changed',
    )
    expect(stdout.split('\n').slice(1)).toEqual([
      expect.stringMatching(/^1@\w+ {2}Tide Clock/),
      '    changed and reverted',
      '',
    ])
  })

  test('long changed texts are cut to the width', async () => {
    const service = await startService()
    await put(service, 1, { description: `${'Ebb '.repeat(30)}and ${'flow '.repeat(30)}` })
    await put(service, 1, { short_description: 'Flow '.repeat(16).trim() })
    const { stdout } = await commandLine(service.databaseUrl).run(
      'moderation',
      'queue',
      '--changed',
    )
    const details = stdout.split('\n').filter((line) => line.startsWith('    '))
    expect(details.map((line) => line.replace(/:.*/, ''))).toEqual([
      '    short_description',
      '    description',
    ])
    for (const line of details) {
      expect(line.length).toBeGreaterThan(60)
      expect(line.length).toBeLessThanOrEqual(80)
    }
  })

  test('a long history has its newest hundred entries', async () => {
    const service = await startService()
    for (let version = 1; version <= 99; version++) await put(service, 1, { version: `${version}` })
    const cli = commandLine(service.databaseUrl)
    const { stdout, stderr } = await cli.run('moderation', 'show', '1')
    expect(stderr).toBe(
      'The newest 100 entries; ./apps-service audit --app 1 --limit 1000 shows more.\n',
    )
    expect(stdout.match(/ {2}app (?:create|approve|update)$/gm)).toHaveLength(100)
    const { history } = await cli.json('moderation', 'show', '1')
    expect(new Set(history.map(({ id }: { id: number }) => id)).size).toBe(100)
    expect((await cli.run('moderation', 'show', '2')).stderr).toBe('')
  })
})
