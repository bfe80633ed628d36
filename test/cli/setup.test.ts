import { expect, test } from 'vitest'
import { copyWorld, emptyDatabaseUrl } from '../support/database.ts'
import { run, runProcess, startListening } from '../support/process.ts'

/** migrate, seed and demo. */

test('a migrated database with apps stays as it is', async () => {
  const env = { DATABASE_URL: await copyWorld() }
  expect(await run(['migrate'], env)).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^The database \S+ .*\n$/),
    stderr: '',
  })
  expect(await run(['seed'], env)).toEqual({
    code: 0,
    stdout: expect.stringContaining('nothing was changed'),
    stderr: '',
  })
})

test('a database with categories is not seeded', async () => {
  const env = { DATABASE_URL: await emptyDatabaseUrl() }
  await run(['migrate'], env)
  await run(['category', 'add', '--slug', 'games', '--name', 'Games'], env)
  expect(await run(['seed'], env)).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^A catalogue is already present; nothing was changed\.\n[^{]*apps-service key issue[^{]*http:\/\/localhost:3001,[^{]*apps-service moderator add NAME\n/,
    ),
    stderr: '',
  })
  expect(JSON.parse((await run(['app', 'list', '--json'], env)).stdout).apps).toEqual([])
})

test('migrate and seed create the demo catalogue', async () => {
  const env = { DATABASE_URL: await emptyDatabaseUrl() }
  expect(await runProcess(['migrate'], env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Created the database \S+\.\n$/),
  })
  expect(await run(['developer', 'list'], env)).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No developers.\n',
  })
  const seeded = await runProcess(['seed'], env)
  expect(seeded.code).toBe(0)
  expect(seeded.stdout).toMatch(
    /Reference {2}http:\/\/localhost:3000\/docs\n {2}Key {8}(apps_[0-9a-z]{12}_[0-9A-Za-z]{49}) [\s\S]*curl http:\/\/localhost:3000\/apps [\s\S]*Bearer \1'[\s\S]*apps-service moderation approve [\s\S]*http:\/\/localhost:3001,[\s\S]*apps-service moderator add NAME\n.*apps-service moderation serve\n/,
  )
  expect(
    JSON.parse((await run(['moderation', 'queue', '--json'], env)).stdout).apps.length,
  ).toBeGreaterThan(0)
  expect((await run(['seed'], env)).stdout).not.toMatch(/apps_/)
})

test('demo migrates, seeds and serves, also the second time', async () => {
  const env = { DATABASE_URL: await emptyDatabaseUrl() }
  for (const seeded of ['Added the demo catalogue.', 'A catalogue is already present;']) {
    const server = await startListening('demo', env)
    expect(server.log.join('\n')).toContain(seeded)
    const { status, body } = await server.request('GET', '/apps?limit=1')
    expect([status, body.data.apps.length]).toEqual([200, 1])
    server.process.kill('SIGTERM')
    expect(await server.exited).toEqual([0, null])
  }
})
