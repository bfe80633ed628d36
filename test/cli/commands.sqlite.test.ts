import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { temporaryFolder } from '../support/database.ts'
import { expectRefusal, run } from '../support/process.ts'

describe('one clear line, and exit 1', () => {
  test.for<[what: string, args: string[], file: () => string, line: RegExp]>([
    [
      'for a database that is not there',
      ['serve'],
      missing,
      /none\.sqlite does not exist; npx apps-service migrate creates it/,
    ],
    ['for a file that is no database', ['serve'], garbage, /is not a file that SQLite can read as a database/],
    ['for migrating a file that is no database', ['migrate'], garbage, /file is not a database/],
    ['for migrating where no file can be', ['migrate'], () => '/dev/null/x/apps.sqlite', /\/dev\/null/],
    [
      'for a key on a database that is not migrated',
      ['key', 'issue', '--developer', 'A'],
      missing,
      /migrate creates it/,
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
