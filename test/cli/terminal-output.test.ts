import { describe, expect, inject, test } from 'vitest'
import type { OwnerColumn } from '../../src/catalogue/app-columns.ts'
import { findApp, saveApp } from '../../src/catalogue/app-store.ts'
import { addCategory } from '../../src/catalogue/category-store.ts'
import { mergeUnreviewed } from '../../src/catalogue/policy.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { copyWorld } from '../support/database.ts'
import { hasTerminal, run, runInTerminal } from '../support/process.ts'
import { mapOptional, otherFields } from '../support/whole-app.ts'

/** What commands print on a terminal: stored texts cannot control it, and tables fit it. */

/** The address of a changed copy of the world. */
async function changedWorld(change: (runner: QueryRunner) => Promise<void>): Promise<string> {
  const address = await copyWorld()
  const database = openDatabase(address)
  await database.write(change)
  await database.close()
  return address
}

/** Returns a function that appends the ending to the texts of a table's columns. */
const appender =
  ({ sql }: QueryRunner, ending: string) =>
  (table: string, ...columns: string[]) =>
    sql(table).update(
      Object.fromEntries(columns.map((column) => [column, sql.raw('?? || ?', [column, ending])])),
    )

describe('stored texts cannot control the terminal:', () => {
  /** Stored as part of a text: starts an escape sequence and reverses the reading direction. */
  const controlCharacters = '\u001b\u202e'
  /** The same in the output. */
  const shown = '\uFFFD\uFFFD'
  const shownInAddress = '%1B%E2%80%AE'

  /** The address of a copy of the world in which every free text ends with control characters. */
  async function trappedWorld(): Promise<string> {
    return changedWorld(async (runner) => {
      const append = appender(runner, controlCharacters)
      await append('developers', 'name')
      await append('categories', 'name')
      await runner.sql('api_keys').update({ name: `nightly${controlCharacters}` })
      const texts: Record<Exclude<OwnerColumn, 'category_id'>, string> = {
        ...mapOptional((field) => `${otherFields[field]}${controlCharacters}`),
        keywords: JSON.stringify([`shore${controlCharacters}`]),
        name: `Ebb${controlCharacters}`,
        short_description: `Shore${controlCharacters}`,
        description: `One.${controlCharacters}\nTwo.${controlCharacters}`,
        version: `2${controlCharacters}`,
        package_name: `org.example.ebb${controlCharacters}`,
        website_url: `https://ebb.example/${controlCharacters}`,
        source_code_url: `https://code.example/ebb${controlCharacters}`,
        license: `MIT${controlCharacters}`,
      }
      // Appending to JSON would break it.
      const { keywords: _, ...appended } = texts
      await append('apps', ...Object.keys(appended), 'rejection_reason')
      const app = await findApp(runner, 1)
      if (!app) throw new Error('the world has no app 1')
      const unreviewed_since = '2020-01-01T00:00:00.000Z'
      const changes = {
        ...texts,
        unreviewed_since,
        unreviewed_changes: mergeUnreviewed(app, texts),
      }
      await saveApp(runner, 'app update', app, changes, { operator: `root${controlCharacters}` })
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
        'Website         https://ebb.example/',
        'Source code     https://code.example/ebb',
        'Licence         MIT',
        'Keywords        shore',
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
        '- https://tideclock.example.org/',
        '+ https://ebb.example/',
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
    for (const text of texts)
      expect(stdout).toContain(text + (text.includes('://') ? shownInAddress : shown))
  })

  test('in results and errors of commands', async () => {
    const env = { DATABASE_URL: await trappedWorld() }
    const revoked = await run(['key', 'revoke', inject('world').keys.bob], env)
    expect(revoked.stdout).toContain(`Bob${shown}`)
    const transferred = await run(['app', 'transfer', '1', '--to', `Bob${controlCharacters}`], env)
    expect(transferred.stdout).toContain(`Bob${shown}`)
    const missing = await run(['app', 'transfer', '1', '--to', `Eve${controlCharacters}`], env)
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringMatching(/^apps-service: .* "Eve/),
    ])
    for (const { stdout, stderr } of [revoked, transferred, missing]) {
      expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/u)
    }
  })
})

describe('lists with long names fit the terminal:', () => {
  test.for<{ command: string; shortenedColumns: number }>([
    { command: 'app list', shortenedColumns: 3 },
    { command: 'audit --limit 1', shortenedColumns: 2 },
    { command: 'category list', shortenedColumns: 2 },
    { command: 'developer list', shortenedColumns: 1 },
    { command: 'key list', shortenedColumns: 2 },
    { command: 'moderation queue', shortenedColumns: 3 },
  ])('$command', async ({ command, shortenedColumns }) => {
    const { stdout } = await run(command.split(' '), { DATABASE_URL: await longWorld() })
    expect(widthOf(stdout)).toBe(80)
    const [, row = ''] = stdout.split('\n')
    expect(row.match(/x…/g)).toHaveLength(shortenedColumns)
  })

  test.skipIf(!hasTerminal).for([70, 110])('which has %i columns', async (columns) => {
    const shown = await runInTerminal(columns, ['app', 'list'], { DATABASE_URL: await longWorld() })
    expect(widthOf(shown)).toBe(columns)
  })

  const longWorld = () =>
    changedWorld(async (runner) => {
      const long = 'x'.repeat(90)
      const append = appender(runner, long)
      await append('apps', 'name', 'slug')
      await append('developers', 'name')
      await append('categories', 'name', 'slug')
      await runner.sql('api_keys').update({ name: long })
      await addCategory(runner, 'x'.repeat(80), 'X', { operator: long })
    })

  const widthOf = (text: string) => Math.max(...text.split('\n').map((line) => line.length))
})
