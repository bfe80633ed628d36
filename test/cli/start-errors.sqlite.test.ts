import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { temporaryFolder } from '../support/database.ts'
import { expectRefusal, run } from '../support/process.ts'

/** Commands on a database file that is missing or damaged. */

describe('one line and exit code 1', () => {
  test.for<[what: string, args: string[], file: () => string, line: RegExp]>([
    [
      'for a missing database',
      ['serve'],
      missing,
      /^apps-service: .* \/.*\/none\.sqlite .* migrate .* \(DATABASE_URL is set in the environment\)$/m,
    ],
    [
      'for a path whose ~ nothing has replaced',
      ['status'],
      () => '~/apps.sqlite',
      /\/~\/apps\.sqlite .* ~ .* \(DATABASE_URL/,
    ],
    ['for a file that is not a database', ['serve'], garbage, /garbage\.sqlite/],
    ['for migrating a file that is not a database', ['migrate'], garbage, /file is not a database/],
    [
      'for migrating a path that cannot be a file',
      ['migrate'],
      () => '/dev/null/x/apps.sqlite',
      / \/dev\/null\/x: not a directory \(DATABASE_URL /,
    ],
    [
      'for migrating a file two directories below one that exists',
      ['migrate'],
      () => join(temporaryFolder(), 'none/data/apps.sqlite'),
      /\/none\/data: .* \(DATABASE_URL /,
    ],
    [
      'for a key on a database that is not migrated',
      ['key', 'issue', '--developer', 'A'],
      missing,
      / migrate .* \(DATABASE_URL /,
    ],
  ])('%s', async ([, args, file, line]) => {
    expectRefusal(await run(args, { DATABASE_URL: `sqlite:${file()}` }), line)
  })

  function missing() {
    return join(temporaryFolder(), 'none.sqlite')
  }

  function garbage() {
    const file = join(temporaryFolder(), 'garbage.sqlite')
    writeFileSync(file, 'not a database '.repeat(500))
    return file
  }
})
