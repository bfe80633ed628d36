import { createServer } from 'node:net'
import { describe, expect, inject, test } from 'vitest'
import { appStore } from '../../src/catalogue/app-store.ts'
import { categoryStore } from '../../src/catalogue/category-store.ts'
import { mergeUnreviewed } from '../../src/catalogue/policy.ts'
import { openDatabase } from '../../src/db/database.ts'
import type { Connection } from '../../src/db/engine.ts'
import { copyWorld, emptyDatabaseUrl } from '../support/database.ts'
import { expectRefusal, hasTerminal, run, runInTerminal, runProcess } from '../support/process.ts'

/**
 * Runs commands: results and exit codes, safe and narrow output for a terminal, setup and seeding,
 * and errors at start. "The world" is the small catalogue of support/world.ts.
 */

type Invocation = {
  name: string
  args: string[]
  code: number
  stdout?: RegExp
  stderr?: RegExp
  json?: unknown
}

describe('on a copy of the world', () => {
  test.for<Invocation>([
    {
      name: 'migrates what is up to date',
      args: ['migrate'],
      code: 0,
      stdout: /^The database \S+ is up to date\.\n$/,
    },
    {
      name: 'keeps a catalogue that has apps',
      args: ['seed'],
      code: 0,
      stdout: /nothing was changed/,
    },
    {
      name: 'issues a key, alone on standard output',
      args: ['key', 'issue', '--developer', 'Ada'],
      code: 0,
      stdout: /^apps_[0-9a-z]{12}_[0-9A-Za-z]{49}\n$/,
      stderr: /Key of Ada, until /,
    },
    {
      name: 'issues a key to a new developer',
      args: ['key', 'issue', '--developer', ' Grace '],
      code: 0,
      stderr: /Key of the new developer Grace/,
    },
    {
      name: 'issues a key as JSON',
      args: ['key', 'issue', '--developer', 'Ada', '--json'],
      code: 0,
      json: {
        id: expect.stringMatching(/^[0-9a-z]{12}$/),
        key: expect.stringMatching(/^apps_/),
        name: null,
        developer_name: 'Ada',
        expires_at: expect.stringMatching(/Z$/),
      },
    },
    {
      name: 'refuses a developer without a name',
      args: ['key', 'issue', '--developer', ' '],
      code: 1,
      stderr: /^apps-service: a developer name must have 1 to 100 characters, not 0\n$/,
    },
    {
      name: 'gives a developer another name',
      args: ['developer', 'rename', 'Ada', '--to', 'Lovelace'],
      code: 0,
      stdout: /^The developer is Lovelace now, with 1 listed apps\.\n$/,
    },
    {
      name: 'refuses to list the keys of a developer who does not exist',
      args: ['key', 'list', '--developer', 'Eve'],
      code: 1,
      stderr: /^apps-service: there is no developer "Eve"\n$/,
    },
    {
      name: 'adds a category',
      args: ['category', 'add', '--slug', 'travel', '--name', 'Travel'],
      code: 0,
      stdout: /^Added category 4: Travel \(travel\)\.\n$/,
    },
    {
      name: 'adds a category as JSON',
      args: ['category', 'add', '--slug', 'travel', '--name', 'Travel', '--json'],
      code: 0,
      json: { id: 4, slug: 'travel', name: 'Travel' },
    },
    {
      name: 'refuses a category that is there',
      args: ['category', 'add', '--slug', 'tools', '--name', 'More'],
      code: 1,
      stderr: /already a category with the slug tools/,
    },
    {
      name: 'refuses a category whose name is there',
      args: ['category', 'add', '--slug', 'more', '--name', 'Tools'],
      code: 1,
      stderr: /already a category with the name Tools/,
    },
    {
      name: 'refuses a slug that is none',
      args: ['category', 'add', '--slug', 'Bad Slug', '--name', 'Bad'],
      code: 1,
      stderr: /lower-case letters and digits/,
    },
  ])('$name', async ({ args, code, stdout, stderr, json }) => {
    const reply = await run(args, { DATABASE_URL: await copyWorld() })
    expect(reply.code, reply.stderr).toBe(code)
    if (stdout) expect(reply.stdout).toMatch(stdout)
    if (stderr) expect(reply.stderr).toMatch(stderr)
    if (json) expect(JSON.parse(reply.stdout)).toEqual(json)
    expect(reply.stderr).not.toMatch(/\n\s+at /)
    if (code !== 0) expect(reply.stdout).toBe('')
  })
})

/** The address of a changed copy of the world. */
async function changedWorld(change: (connection: Connection) => Promise<void>): Promise<string> {
  const address = await copyWorld()
  const database = openDatabase(address)
  await database.write(change)
  await database.close()
  return address
}

/** Returns a function that appends the ending to the texts of a table's columns. */
const appender =
  ({ sql }: Connection, ending: string) =>
  (table: string, ...columns: string[]) =>
    sql(table).update(
      Object.fromEntries(columns.map((column) => [column, sql.raw('?? || ?', [column, ending])])),
    )

describe('stored texts cannot control the terminal:', () => {
  /** Stored as part of a text: starts an escape sequence and reverses the reading direction. */
  const trap = '\u001b\u202e'
  /** The same in the output. */
  const shown = '\uFFFD\uFFFD'

  /** The address of a copy of the world in which every free text ends with the trap. */
  async function trappedWorld(): Promise<string> {
    return changedWorld(async (connection) => {
      const append = appender(connection, trap)
      await append('developers', 'name')
      await append('categories', 'name')
      await connection.sql('api_keys').update({ name: `nightly${trap}` })
      await append(
        'apps',
        'name',
        'short_description',
        'description',
        'version',
        'package_name',
        'rejection_reason',
      )
      const apps = appStore(connection)
      const app = await apps.find(1)
      if (!app) throw new Error('the world has no app 1')
      const texts = {
        name: `Ebb${trap}`,
        short_description: `Shore${trap}`,
        description: `One.${trap}\nTwo.${trap}`,
        version: `2${trap}`,
        package_name: `org.example.ebb${trap}`,
      }
      const unreviewed_since = '2020-01-01T00:00:00.000Z'
      const changes = {
        ...texts,
        unreviewed_since,
        unreviewed_changes: mergeUnreviewed(app, texts),
      }
      await apps.save('app update', app, changes, { operator: `root${trap}` })
    })
  }

  test.for<[command: string, texts: string[]]>([
    ['moderation queue', ['Cloud Atlas', 'Ada']],
    ['moderation queue --changed', ['Ebb', 'name: Tide Clock', 'version: 1.0.0', '→ 2', 'Ada']],
    [
      'moderation show 1',
      [
        'Name            Ebb',
        'Version         2',
        'Package name    org.example.ebb',
        'Category        Tools',
        'Developer       Ada',
        'In short        Shore',
        '\nOne.',
        '\nTwo.',
        '- Tide Clock',
        '+ Ebb',
        '- High and low water',
        '+ Shore',
        '- Tide Clock is here.',
        '+ One.',
        '+ Two.',
        '- 1.0.0',
        '+ 2',
        '- org.example.tideclock',
        '+ org.example.ebb',
        'root',
        'name: Tide Clock',
      ],
    ],
    ['moderation show 3', ['Reason          It points south.']],
    ['audit', ['root', 'name: Tide Clock']],
    ['key list', ['nightly', 'Bob']],
    ['developer list', ['Ada', 'Bob']],
    ['category list', ['Empty', 'Games', 'Tools']],
  ])('%s', async ([command, texts]) => {
    const { code, stdout, stderr } = await run(command.split(' '), {
      DATABASE_URL: await trappedWorld(),
    })
    expect(code, stderr).toBe(0)
    expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/u)
    for (const text of texts) expect(stdout).toContain(text + shown)
  })

  test('in results and errors of commands', async () => {
    const env = { DATABASE_URL: await trappedWorld() }
    const revoked = await run(['key', 'revoke', inject('world').keys.bob], env)
    expect(revoked.stdout).toContain(`Bob${shown}`)
    const transferred = await run(['app', 'transfer', '1', '--to', `Bob${trap}`], env)
    expect(transferred.stdout).toContain(`Bob${shown}`)
    const missing = await run(['app', 'transfer', '1', '--to', `Eve${trap}`], env)
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringMatching(/^apps-service: there is no developer "Eve/),
    ])
    for (const { stdout, stderr } of [revoked, transferred, missing]) {
      expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/u)
    }
  })
})

describe('lists with long names fit the terminal:', () => {
  // `cut` is how many columns are shortened.
  test.for<[command: string, cut: number]>([
    ['app list', 3],
    ['audit --limit 1', 2],
    ['category list', 2],
    ['developer list', 1],
    ['key list', 2],
    ['moderation queue', 3],
  ])('%s', async ([command, cut]) => {
    const { stdout } = await run(command.split(' '), { DATABASE_URL: await longWorld() })
    expect(widthOf(stdout)).toBe(80)
    const [, row = ''] = stdout.split('\n')
    expect(row.match(/x…/g)).toHaveLength(cut)
  })

  test.skipIf(!hasTerminal).for([70, 110])('which has %i columns', async (columns) => {
    const shown = await runInTerminal(columns, ['app', 'list'], { DATABASE_URL: await longWorld() })
    expect(widthOf(shown)).toBe(columns)
  })

  const longWorld = () =>
    changedWorld(async (connection) => {
      const long = 'x'.repeat(90)
      const append = appender(connection, long)
      await append('apps', 'name', 'slug')
      await append('developers', 'name')
      await append('categories', 'name', 'slug')
      await connection.sql('api_keys').update({ name: long })
      await categoryStore(connection).add('x'.repeat(80), 'X', { operator: long })
    })

  const widthOf = (text: string) => Math.max(...text.split('\n').map((line) => line.length))
})

test('a database with categories is not seeded', async () => {
  const env = { DATABASE_URL: await emptyDatabaseUrl() }
  await run(['migrate'], env)
  await run(['category', 'add', '--slug', 'games', '--name', 'Games'], env)
  expect(await run(['seed'], env)).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^A catalogue is already present; nothing was changed\.\n[^{]*apps-service key issue/,
    ),
    stderr: '',
  })
  expect(JSON.parse((await run(['app', 'list', '--json'], env)).stdout).apps).toEqual([])
})

test('migrate and seed create the demo catalogue', async () => {
  const env = { DATABASE_URL: await emptyDatabaseUrl() }
  expect(await runProcess(['migrate'], env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Migrated the database \S+: 0001-catalogue\.ts, .*\.\n$/),
  })
  expect(await run(['developer', 'list'], env)).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No developers.\n',
  })
  const seeded = await runProcess(['seed'], env)
  expect(seeded.code).toBe(0)
  expect(seeded.stdout).toMatch(
    /Reference {2}http:\/\/localhost:3000\/docs\n {2}Key {8}(apps_[0-9a-z]{12}_[0-9A-Za-z]{49}) [\s\S]*curl http:\/\/localhost:3000\/apps [\s\S]*Bearer \1'[\s\S]*apps-service moderation approve /,
  )
  expect(
    JSON.parse((await run(['moderation', 'queue', '--json'], env)).stdout).apps.length,
  ).toBeGreaterThan(0)
  expect((await run(['seed'], env)).stdout).not.toMatch(/apps_/)
})

describe('a failure is one line and exit code 1', () => {
  test.for<
    [
      what: string,
      args: string[],
      env: () => Record<string, string> | Promise<Record<string, string>>,
      line: RegExp,
    ]
  >([
    [
      'for a port that is taken',
      ['serve'],
      takenPort,
      /address already in use 127\.0\.0\.1:\d+; change HOST or PORT$/m,
    ],
    [
      'for a host that is not an address of the machine',
      ['serve'],
      async () => ({ DATABASE_URL: await copyWorld(), HOST: '192.0.2.1' }),
      /address not available 192\.0\.2\.1:\d+; change HOST or PORT$/m,
    ],
    [
      'for all problems of the environment',
      ['serve'],
      () => ({ PORT: 'x', LOG_LEVEL: 'loud', BASE_URL: 'ftp://x', DATABASE_URL: 'mysql://x' }),
      /PORT must be [^;]*; BASE_URL must be [^;]*; DATABASE_URL must be [^;]*; LOG_LEVEL must be /,
    ],
  ])('%s', async ([, args, env, line]) => {
    expectRefusal(await run(args, await env()), line)
  })

  async function takenPort() {
    const server = createServer().listen(0, '127.0.0.1').unref()
    await new Promise((resolve) => server.on('listening', resolve))
    const address = server.address()
    return {
      DATABASE_URL: await copyWorld(),
      PORT: String(typeof address === 'object' ? address?.port : ''),
    }
  }
})
