import { describe, expect, inject, test } from 'vitest'
import { queueColumns } from '../../src/catalogue/app-columns.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { pick } from '../../src/util/helpers.ts'
import { importLines } from '../support/catalogue-file.ts'
import { freezeClock } from '../support/clock.ts'
import { copyWorld } from '../support/database.ts'
import { commandLine } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { noFields } from '../support/whole-app.ts'

/** What the queue prints. test/moderation/queue.test.ts has what waits in it. */

const { approved, pending, bobsPending } = inject('world').apps
const past = '2020-01-01T00:00:00.000Z'
const revision = expect.stringMatching(/^[0-9a-z]{5}$/)

/** A world after these changes, and its command line. */
async function start(...changes: ((runner: QueryRunner) => Promise<unknown>)[]) {
  const { database, databaseUrl } = await startService()
  for (const change of changes) await database.write(change)
  return { database, ...commandLine(databaseUrl) }
}
const set = (id: number, columns: object) => (runner: QueryRunner) =>
  runner.sql('apps').where({ id }).update(columns)
/** The owner has changed these columns since the last decision. */
const change = (before: object, columns: object) =>
  set(approved, {
    ...before,
    ...columns,
    unreviewed_since: '2026-03-01T00:00:00.000Z',
    unreviewed_changes: JSON.stringify(before),
  })

test('the queue is printed as JSON and as a table, a page at a time', async () => {
  const { run, json } = commandLine(await copyWorld())
  const cloudAtlas = {
    id: pending,
    revision,
    name: 'Cloud Atlas',
    slug: 'cloud-atlas',
    short_description: null,
    ...pick(noFields, ...queueColumns),
    developer_name: 'Ada',
    category_slug: 'tools',
    created_at: past,
    updated_at: past,
    waiting_since: past,
    waiting_seconds: expect.any(Number),
    changes: [],
    similar: [],
    warnings: [],
  }
  const nightTrain = {
    ...cloudAtlas,
    id: bobsPending,
    name: 'Night Train',
    slug: 'night-train',
    developer_name: 'Bob',
  }
  expect(await json('moderation', 'queue')).toEqual({
    apps: [cloudAtlas, nightTrain],
    pagination: { current_page: 1, total_pages: 1, per_page: 10_000, total: 2 },
  })
  expect(await json('moderation', 'queue', '--limit', '1', '--page', '2')).toEqual({
    apps: [nightTrain],
    pagination: { current_page: 2, total_pages: 2, per_page: 1, total: 2 },
  })
  const first = await run('moderation', 'queue', '--limit', '1')
  expect(first.stdout).toMatch(
    /^ID +NAME +DEVELOPER +CATEGORY +WAITED +UPDATED\n2@[0-9a-z]{5} {2}Cloud Atlas +Ada +tools +\d+d +\d+d\n$/,
  )
  const [shown = ''] = /2@\w+/.exec(first.stdout) ?? []
  expect(first.stderr).toBe(
    `A decision on ${shown} is refused if the app has changed since; one on 2 is not.\nPage 1 of 2, 2 in all.\n`,
  )
  expect(await run('moderation', 'queue', '--page', '9')).toMatchObject({
    stdout: '',
    stderr: 'Page 9 of 1, 2 in all.\n',
  })
  expect(await run('moderation', 'queue', '--changed', '--limit', '1000')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No apps.\n',
  })
})

test('the queue as JSON has all apps, unless there is a limit', async () => {
  const { database, run, json } = await start()
  const line = { description: 'D', category: 'tools', developer_name: 'Cy' }
  const lines = Array.from({ length: 60 }, (_, index) => ({ ...line, name: `Wave ${index}` }))
  await importLines(database, lines)
  expect((await json('moderation', 'queue')).apps).toHaveLength(62)
  expect((await json('moderation', 'queue', '--limit', '50')).apps).toHaveLength(50)
  expect((await run('moderation', 'queue')).stderr).toContain('Page 1 of 2, 62 in all.')
})

test('JSON has how many seconds a new app has waited, and a changed one since its change', async () => {
  const { json } = await start(change({ version: '1' }, { version: '2' }))
  freezeClock(Date.parse('2026-03-01T00:01:30.000Z'))
  const seconds = async (...options: string[]) =>
    (await json('moderation', 'queue', ...options)).apps[0].waiting_seconds
  expect(await seconds('--changed')).toBe(90)
  expect(await seconds()).toBe((Date.now() - Date.parse(past)) / 1000)
})

describe('below each app, the queue has', () => {
  /** The lines that are not of the table. */
  const details = (stdout: string) => stdout.split('\n').filter((line) => line.startsWith('    '))

  test('of a new one its short description, addresses, licence and keywords', async () => {
    const texts = {
      short_description: 'Seen from above, in all weathers',
      website_url: 'https://bücher.example/',
      source_code_url: `https://xn--bcher-kva.example/${'x'.repeat(100)}`,
      license: 'MIT',
    }
    const keywords = ['clouds', 'weather map', 'sun, rain']
    const { run, json } = await start(
      set(pending, { ...texts, keywords: JSON.stringify(keywords) }),
    )
    expect(details((await run('moderation', 'queue')).stdout)).toEqual([
      '    Seen from above, in all weathers',
      '    website_url: https://xn--bcher-kva.example/ (bücher.example)',
      `    source_code_url: https://xn--bcher-kva.example/${'x'.repeat(11)}… (bücher.example)`,
      '    license: MIT',
      '    keywords: clouds, weather map, "sun, rain"',
    ])
    expect((await json('moderation', 'queue')).apps[0]).toMatchObject({ ...texts, keywords })
  })

  test('of a changed one a line for each change, and two for an address', async () => {
    const sentence = `It shows the water.${' Twice a day.'.repeat(20)}`
    const before = {
      name: 'Tide Clock',
      short_description: 'High and low water',
      description: sentence,
      website_url: 'https://example.org/',
      license: null,
    }
    const after = {
      // Names from before the rule may have bidirectional controls, which could disguise them.
      name: 'Tide \u202eClock\u2066',
      short_description: null,
      description: `${sentence} And ads.`,
      website_url: 'https://ex\u0430mple.org/',
      license: 'MIT',
    }
    const { run, json } = await start(change(before, after))
    const { stdout } = await run('moderation', 'queue', '--changed')
    expect(stdout).toMatch(/^1@\w+ {2}Tide \uFFFDClock\uFFFD +Ada +tools +\d+d +\w+$/m)
    expect(details(stdout)).toEqual([
      '    warning: Host with letters of another script: xn--exmple-4nf.org',
      '    name: Tide Clock → Tide \uFFFDClock\uFFFD',
      '    short_description: High and low water → (none)',
      '    description: …e a day. → …e a day. And ads.',
      '    website_url: https://example.org/',
      '    → https://xn--exmple-4nf.org/ (ex\u0430mple.org)',
      '    license: (none) → MIT',
    ])
    // Whole, and as they were sent.
    expect((await json('moderation', 'queue', '--changed')).apps[0].changes).toEqual(
      Object.entries(after).map(([field, value]) => ({
        field,
        before: before[field as keyof typeof before],
        after: value,
      })),
    )
  })

  test('what may be an imitation, alone or of another app', async () => {
    const { run, json } = await start(
      set(pending, { name: 'Zеbra Crossing', source_code_url: 'https://ex\u0430mple.org/' }),
    )
    expect(details((await run('moderation', 'queue')).stdout)).toEqual([
      '    warning: Letters of two scripts: е is Cyrillic',
      '    warning: Host with letters of another script: xn--exmple-4nf.org',
      '    source_code_url: https://xn--exmple-4nf.org/ (ex\u0430mple.org)',
    ])
    expect((await json('moderation', 'queue')).apps[0].warnings).toEqual([
      'Letters of two scripts: е is Cyrillic',
      'Host with letters of another script: xn--exmple-4nf.org',
    ])
  })

  test('that its changes were reverted', async () => {
    const { run } = await start(change({ name: 'Tide Clock' }, {}))
    const { stdout } = await run('moderation', 'queue', '--changed')
    expect(details(stdout)).toEqual(['    changed and reverted'])
  })

  test('both texts of a long change, no wider than the terminal', async () => {
    const description = `${'Ebb '.repeat(30)}and ${'flow '.repeat(30)}`
    const { run } = await start(change({ description: 'Tides.' }, { description }))
    const [line = ''] = details((await run('moderation', 'queue', '--changed')).stdout)
    expect(line).toMatch(/^ {4}description: Tides\. → Ebb .*…$/)
    expect(line.length).toBeLessThanOrEqual(80)
  })
})

test('a filter by what does not exist is refused, and says which', async () => {
  const { run } = commandLine(await copyWorld())
  for (const [option, value] of [
    ['--developer', 'Eve'],
    ['--category', 'none'],
  ] as const)
    expect(await run('moderation', 'queue', option, value)).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(`^apps-service: .*\\b${value}`),
    })
})

describe('approve and reject', () => {
  test('decide on each id once, in the given order, and print each refusal', async () => {
    const { run, json } = commandLine(await copyWorld())
    const approvals = await run('moderation', 'approve', '6', '99', '2', '6', '1')
    expect(approvals).toEqual({
      code: 1,
      stdout: expect.stringMatching(
        /^App 6 \(night-train\) is now approved\. .*\nApp 2 \(cloud-atlas\) is .*\n$/,
      ),
      stderr: expect.stringMatching(/^apps-service: .* 99\napps-service: .*\b1\b.*\n$/),
    })
    const reason = ' Too dark. '
    const rejections = await run('moderation', 'reject', '6', '3', '--reason', reason, '--json')
    expect(rejections).toMatchObject({ code: 1, stderr: expect.stringMatching(/\b3\b/) })
    expect(JSON.parse(rejections.stdout)).toEqual([
      { id: 6, slug: 'night-train', status: 'rejected' },
      { id: 3, error: expect.stringMatching(/^app 3 /) },
    ])
    expect((await json('moderation', 'show', '6')).rejection_reason).toBe('Too dark.')
  })

  test('print the name that the app has, and when it last changed', async () => {
    const { run } = await start(set(pending, { name: 'Bank "Login"' }))
    expect((await run('moderation', 'approve', '2')).stdout).toMatch(
      /^App 2 \(cloud-atlas\) is now approved\. Its name is "Bank \\"Login\\""; before the decision, it last changed \d+d ago\.\n$/,
    )
  })

  test('take the revisions that queue and show print, and refuse former ones', async () => {
    const { run, json } = await start()
    for (const command of [
      ['queue', '--limit', '1'],
      ['show', '2'],
    ]) {
      const [shown = ''] = /2@\w+/.exec((await run('moderation', ...command)).stdout) ?? []
      expect(await run('moderation', 'approve', shown)).toMatchObject({ code: 0, stderr: '' })
      expect(await run('moderation', 'reopen', shown)).toMatchObject({ code: 1, stdout: '' })
      expect(await run('moderation', 'reopen', '2')).toMatchObject({ code: 0, stderr: '' })
    }
    expect((await json('moderation', 'queue')).pagination.total).toBe(2)
  })

  test.for<{ what: string; args: string[]; problem: RegExp }>([
    { what: 'an id of another form', args: ['approve', '2', '0x6'], problem: /'0x6'/ },
    { what: 'no revision behind @', args: ['approve', '2@'], problem: /'2@'/ },
    { what: 'no id before it', args: ['approve', '@k3f9a'], problem: /'@k3f9a'/ },
    { what: 'a revision in capitals', args: ['approve', '2@K3F9A'], problem: /'2@K3F9A'/ },
    { what: 'a revision of two words', args: ['approve', '2@k3 f9'], problem: /'2@k3 f9'/ },
    { what: 'no reason', args: ['reject', '2', '6'], problem: /--reason/ },
    { what: 'an empty reason', args: ['reject', '2', '--reason', ' \n '], problem: /a reason/ },
    {
      what: 'a reason of a terminal that does not write UTF-8',
      args: ['reject', '2', '--reason', 'Gr\uFFFD\uFFFDe'],
      problem: /a reason .*UTF-8/,
    },
    {
      what: 'a reason with a control sequence',
      args: ['reject', '2', '--reason', 'No.\u001b[2J'],
      problem: /a reason .*U\+001B/,
    },
  ])('decide nothing because of $what', async ({ args, problem }) => {
    const databaseUrl = await copyWorld()
    const { run, json } = commandLine(databaseUrl)
    expect(await run('moderation', ...args)).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(problem),
    })
    expect((await json('moderation', 'queue')).pagination.total).toBe(2)
  })
})
