import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyWorld, emptyDatabaseUrl, temporaryFolder } from '../support/database.ts'
import { run, runProcess } from '../support/process.ts'

/**
 * Printed commands begin as the running one was typed. test/executable.test.ts and
 * test/deploy.sqlite.test.ts have what the executable and the files of deploy/ say about it.
 */

const empty = () => emptyDatabaseUrl()

const typed = 'apps-service-2.2.0/apps-service'

test.for<[where: string, args: string[], database: () => Promise<string>, printed: string[]]>([
  [
    'the usage and the examples',
    ['key', 'issue', '--help'],
    empty,
    ['key issue [options]', 'key issue --developer Ada'],
  ],
  ['the usage of a group', ['moderation'], empty, ['moderation [options]']],
  [
    'the examples of a command without --json',
    ['moderation', 'serve', '--help'],
    empty,
    ['moderator add "Ada'],
  ],
  ['seed', ['seed'], migrated, ['moderation approve ID', 'moderator add NAME', 'moderation serve']],
  [
    'seed for the second time',
    ['seed'],
    copyWorld,
    ['key issue --developer', 'moderator add NAME', 'moderation serve'],
  ],
  ['no moderators', ['moderator', 'list'], migrated, ['moderator add NAME']],
])('in %s', async ([, args, database, printed]) => {
  const env = { DATABASE_URL: await database(), APPS_SERVICE_COMMAND: typed }
  const { stdout, stderr } = await run(args, env)
  for (const command of printed) expect(stdout + stderr).toContain(`${typed} ${command}`)
  expect(stdout + stderr).not.toContain('./apps-service')
})

test('in the errors about a database that is missing or not migrated', async () => {
  const file = join(temporaryFolder(), 'apps.sqlite')
  const env = { DATABASE_URL: `sqlite:${file}`, APPS_SERVICE_COMMAND: typed }
  expect((await runProcess(['serve'], env)).stderr).toContain(`; ${typed} migrate creates `)
  writeFileSync(file, '')
  expect((await runProcess(['serve'], env)).stderr).toContain(`; run ${typed} migrate (`)
})

async function migrated() {
  const url = await emptyDatabaseUrl()
  await run(['migrate'], { DATABASE_URL: url })
  return url
}

test.for<[value: string, printed: string]>([
  ['', './apps-service'],
  [' \n', './apps-service'],
  ['apps', 'apps'],
  ['sudo apps', 'sudo apps'],
  ['sudo my apps', "sudo 'my apps'"],
  ['my sudo apps', "'my sudo apps'"],
  ['rm -rf ~; apps', "'rm -rf ~; apps'"],
  ["a'; id; 'b", "'a'\\''; id; '\\''b'"],
  ['$(id) `id` $& $1', "'$(id) `id` $& $1'"],
  ['\u001b[2J\rx\u202Ey', "'\uFFFD[2J x\uFFFDy'"],
  ['VARIABLE=1', "'VARIABLE=1'"],
  ['~/apps', "'~/apps'"],
])('a value of %j is printed as %j', async ([value, printed]) => {
  const { stdout } = await run(['seed', '--help'], { APPS_SERVICE_COMMAND: value })
  expect(stdout.split('\n', 1)).toEqual([`Usage: ${printed} seed [options]`])
})
