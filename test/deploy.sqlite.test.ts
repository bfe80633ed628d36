import { execFileSync, spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { exitLimit } from '../src/service.ts'
import { copyWorld, temporaryFolder } from './support/database.ts'
import { commandLine, executable, listening } from './support/process.ts'

/** The files of deploy/ that need no other tools. */

const root = join(import.meta.dirname, '..')
const deploy = join(root, 'deploy')

/** The environment and the command of the container image. */
function readContainerfile() {
  const text = readFileSync(join(root, 'deploy/Containerfile'), 'utf8')
  const [, variables = ''] = /^ENV (.+)$/m.exec(text) ?? []
  const environment = Object.fromEntries(
    variables.split(' ').map((variable): [string, string] => {
      const [name = '', value = ''] = variable.split('=')
      return [name, value]
    }),
  )
  const list = (instruction: string): string[] =>
    JSON.parse(new RegExp(`${instruction} (\\[.+\\])$`, 'm').exec(text)?.[1] ?? '')
  return { environment, command: list('^CMD'), healthCheck: list(' CMD') }
}

test("the image's environment serves other machines, and its health check sees a hang", async () => {
  const { environment, command, healthCheck } = readContainerfile()
  const { PATH = '', DATABASE_URL = '', PORT = '', ...others } = environment
  expect([command, PATH, DATABASE_URL, PORT]).toEqual([
    ['serve'],
    '/app/node_modules/.bin:$PATH',
    'sqlite:/data/apps.sqlite',
    '3000',
  ])
  const env = { ...others, DATABASE_URL: `sqlite:${join(temporaryFolder(), 'apps.sqlite')}` }
  execFileSync(executable, ['migrate'], { env: { PATH: process.env.PATH, ...env } })
  const server = await listening('serve', env)
  // On Linux, an address that only a server for all addresses listens on.
  const { status } = await fetch(`http://127.0.0.2:${server.port}/readyz`)
  expect(status).toBe(200)

  const [, ...args] = healthCheck
  const isHealthy = () =>
    spawnSync(process.execPath, args, { env: { PORT: String(server.port) }, timeout: 2_000 })
      .status === 0
  expect(isHealthy()).toBe(true)
  server.process.kill('SIGSTOP')
  expect(isHealthy()).toBe(false)
  server.process.kill('SIGCONT')
})

/** The settings of a unit, each with its values. */
function readUnit(name: string) {
  const settings = new Map<string, string[]>()
  for (const line of readFileSync(join(deploy, name), 'utf8').split('\n')) {
    const [, setting = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (setting !== '') settings.set(setting, [...(settings.get(setting) ?? []), value])
  }
  return (setting: string) => settings.get(setting)?.join(' ') ?? ''
}

const settingsFile = parseEnv(readFileSync(join(deploy, 'apps-service.env'), 'utf8'))
const units = readdirSync(deploy).filter((name) => name.endsWith('.service'))
const timers = readdirSync(deploy).filter((name) => name.endsWith('.timer'))

/** The lines of a unit that restrict what the service may do. */
const restrictions = (unit: string) =>
  readFileSync(join(deploy, unit), 'utf8')
    .split('\n')
    .filter((line) => /^(Protect|Private|Proc|Restrict|System|No|Cap|Lock|UMask|State)/.test(line))

describe.for(units)('%s', (name) => {
  const unit = readUnit(name)

  test('is restricted as the server is', () => {
    expect(restrictions('apps-service.service').length).toBeGreaterThan(20)
    expect(restrictions(name)).toEqual(restrictions('apps-service.service'))
  })

  test('has the account and the settings of the others, and writes where its database is', () => {
    expect(unit('User')).toBe('apps-service')
    expect(unit('EnvironmentFile')).toContain('/etc/apps-service/apps-service.env')
    const directory = `/var/lib/${unit('StateDirectory')}/`
    expect(settingsFile.DATABASE_URL).toMatch(new RegExp(`^sqlite:${directory}[^/]+$`))
  })

  test('runs programs of the clone', () => {
    for (const command of [unit('ExecStartPre'), unit('ExecStart')].filter(Boolean)) {
      const [program = ''] = command.split(' ')
      const path = program.replace('/opt/apps-service', root)
      expect([program, existsSync(path)]).toEqual([program, true])
      accessSync(path, constants.X_OK)
    }
  })
})

test('the server migrates first, however long that takes, and the page follows', () => {
  const server = readUnit('apps-service.service')
  expect(server('ExecStartPre')).toBe('/opt/apps-service/apps-service migrate')
  expect(server('ExecStart')).toBe('/opt/apps-service/apps-service serve')
  expect(server('TimeoutStartSec')).toBe('infinity')
  expect(server('Restart')).toBe('on-failure')
  const page = readUnit('apps-service-moderation.service')
  expect(page('After')).toContain('apps-service.service')
  expect([page('PartOf'), page('WantedBy')]).toEqual([
    'apps-service.service',
    'apps-service.service',
  ])
})

test('the server does not start without its database, which it would create empty', () => {
  const path = readUnit('apps-service.service')('AssertPathExists')
  expect(settingsFile.DATABASE_URL).toBe(`sqlite:${path}`)
})

test.for([
  ['apps-service.service', 'HOST=127.0.0.1 PORT=3000 TRUST_PROXY=1'],
  ['apps-service-moderation.service', 'HOST=127.0.0.1 MODERATION_PORT=3001'],
] as const)('%s is reached from this machine only', ([name, environment]) => {
  expect(readUnit(name)('Environment')).toBe(environment)
})

test('the backup unit may write to the directory of the backups', () => {
  const unit = readUnit('apps-service-backup.service')
  const [, directory] = unit('ExecStart').split(' ')
  expect(unit('ReadWritePaths')).toBe(directory)
  expect(unit('Environment')).toMatch(/^KEEP=[1-9]\d*$/)
})

test.for(timers)(
  '%s starts a unit of its name, also after a time when the machine was off',
  (name) => {
    expect(units).toContain(name.replace('.timer', '.service'))
    const timer = readUnit(name)
    expect(timer('OnCalendar')).not.toBe('')
    expect([timer('Persistent'), timer('WantedBy')]).toEqual(['yes', 'timers.target'])
  },
)

test('whatever stops a server waits until it has exited by itself', () => {
  const compose = readFileSync(join(deploy, 'compose.yaml'), 'utf8')
  const server = compose.slice(compose.indexOf('  server-1:'))
  const page = readFileSync(join(root, 'docs/running.md'), 'utf8')
  const seconds = [
    ...['apps-service.service', 'apps-service-moderation.service'].map((name) =>
      readUnit(name)('TimeoutStopSec'),
    ),
    /stop_grace_period: (\d+)s/.exec(server)?.[1],
    ...[...page.matchAll(/--stop-timeout (\d+)/g)].map(([, value]) => value),
  ]
  expect(seconds).toHaveLength(5)
  for (const value of seconds) expect(Number(value)).toBeGreaterThan(exitLimit / 1000 + 3)
})

test('the files with settings name variables of the service only', () => {
  const known = [...readFileSync(join(root, '.env.example'), 'utf8').matchAll(/^#([A-Z_]+)=/gm)]
  const names = known.map(([, name]) => name)
  const text = readFileSync(join(deploy, 'apps-service.env'), 'utf8')
  const used = [...text.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name)
  expect(used).toEqual(expect.arrayContaining(['BASE_URL', 'DATABASE_URL']))
  expect(names).toEqual(expect.arrayContaining(used))
  // systemd takes it into the value.
  expect(text).not.toMatch(/^\w+=.*#/m)
})

test('as-service-account.sh needs root', () => {
  const { status, stdout, stderr } = spawnSync(join(deploy, 'as-service-account.sh'), ['status'], {
    encoding: 'utf8',
    ...(process.getuid?.() === 0 && { uid: 65_534 }),
  })
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('Run: sudo apps-service status\n'),
  })
})

describe('backup.sh', () => {
  const nights = ['2026-01-01T03-04-05Z', '2026-01-02T03-04-05Z', '2026-01-03T03-04-05Z']
  const nameOf = (time: string) => `apps-${time}.sqlite`
  const older = nights.map(nameOf)
  const later = ['2126-01-01T03-04-05Z', '2126-01-02T03-04-05Z', '9999-12-31T23-59-59Z'].map(nameOf)
  /** Never counted nor deleted: some sort before or after every backup. */
  const others = [
    'apps-before.sqlite',
    'apps-2025-01-01.sqlite',
    'apps-20a5-01-01T03-04-05Z.sqlite',
    'apps-2026-01-01T03-04-05Z.sqlite.gz',
    'notes.txt',
  ].toSorted()

  /** A directory of backups, and what a night adds and deletes there. `stub` replaces programs. */
  async function startNights(names: string[], databaseUrl = '') {
    const folder = temporaryFolder()
    const directory = join(folder, 'a directory with spaces')
    mkdirSync(directory)
    for (const name of [...names, ...others]) writeFileSync(join(directory, name), '')
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      TZ: process.env.TZ,
      DATABASE_URL: databaseUrl || (await copyWorld()),
    }
    const stub = (program: string, script: string) =>
      writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const list = () => readdirSync(directory).filter((name) => !others.includes(name))
    function backUp(keep: string) {
      const before = list()
      const { status, stderr } = spawnSync(join(deploy, 'backup.sh'), [directory], {
        env: { ...env, KEEP: keep },
        encoding: 'utf8',
      })
      expect(readdirSync(directory)).toEqual(expect.arrayContaining(others))
      const kept = list()
      return { status, stderr, kept, added: kept.filter((name) => !before.includes(name)) }
    }
    return { directory, backUp, stub }
  }

  /** What a run prints about names in the future. */
  const inFuture = (directory: string, names: string[]) =>
    names.map(
      (name) =>
        `apps-service-backup: ${directory}/${name} has a time in the future; it is neither counted nor deleted. Check the clock, then delete the file or rename it to when it was made.\n`,
    )

  test.for([
    ['2', older.slice(2)],
    ['3', older.slice(1)],
    ['14', older],
    ['014', older],
    ['1', []],
  ] as const)(
    'KEEP=%s keeps that many, with the new one, and other files',
    async ([keep, kept]) => {
      const { directory, backUp } = await startNights(older)
      const result = backUp(keep)
      expect(result.added).toHaveLength(1)
      const [name = ''] = result.added
      expect(result).toMatchObject({ status: 0, stderr: '', kept: [...kept, name] })
      expect(name).toMatch(/^apps-20\d\d-\d\d-\d\dT\d\d-\d\d-\d\dZ\.sqlite$/)
      const restored = commandLine(`sqlite:${join(directory, name)}`)
      expect((await restored.run('status')).code).toBe(0)
    },
  )

  test.for(['1', '2'])(
    'with KEEP=%s and names in the future, the new one is kept, each night, and they are reported',
    async (keep) => {
      const { directory, backUp, stub } = await startNights([...older, ...later])
      const counted = [...older]
      for (const hour of ['03', '04', '05']) {
        stub('date', `exec /bin/date --date=2026-11-28T${hour}:00:00Z "$@"`)
        counted.push(nameOf(`2026-11-28T${hour}-00-00Z`))
        expect(backUp(keep)).toEqual({
          status: 1,
          stderr: inFuture(directory, later).join(''),
          kept: [...counted.slice(-Number(keep)), ...later],
          added: counted.slice(-1),
        })
      }
    },
  )

  test('with a clock that is behind, nothing is deleted', async () => {
    const { directory, backUp, stub } = await startNights(older)
    stub('date', 'exec /bin/date --date=1970-01-01T00:00:07Z "$@"')
    expect(backUp('1')).toEqual({
      status: 1,
      stderr: inFuture(directory, older).join(''),
      kept: [nameOf('1970-01-01T00-00-07Z'), ...older],
      added: [nameOf('1970-01-01T00-00-07Z')],
    })
  })

  test('the backup of another run that began later is kept, and not reported', async () => {
    const { directory, backUp, stub } = await startNights(older)
    const other = nameOf('2026-11-28T03-00-01Z')
    // The other run ends between the two times that this one reads.
    stub(
      'date',
      `if [ -e '${directory}/${other}' ]; then time=03:00:02; else time=03:00:00; fi
      touch '${directory}/${other}'
      exec /bin/date --date=2026-11-28T$time''Z "$@"`,
    )
    const added = nameOf('2026-11-28T03-00-00Z')
    expect(backUp('1')).toMatchObject({ status: 0, stderr: '', kept: [added, other] })
  })

  test('a second one within a second is refused, and deletes nothing', async () => {
    const { directory, backUp, stub } = await startNights(older)
    stub('date', 'exec /bin/date --date=2026-11-28T03:00:00Z "$@"')
    const first = backUp('4')
    expect(first.status).toBe(0)
    const [name = ''] = first.added
    expect(backUp('1')).toEqual({
      status: 1,
      stderr: `apps-service: ${directory}/${name} already exists; not overwritten\n`,
      kept: [...older, name],
      added: [],
    })
  })

  test('what a killed backup left is deleted after a day', async () => {
    const { directory, backUp } = await startNights(older)
    for (const name of ['.apps-backup-Yes4me', '.apps-backup-Not4me']) {
      mkdirSync(join(directory, name))
      writeFileSync(join(directory, name, nameOf('2026-01-03T03-04-05Z')), '')
    }
    utimesSync(join(directory, '.apps-backup-Yes4me', nameOf('2026-01-03T03-04-05Z')), 0, 0)
    expect(backUp('14').kept).toEqual(['.apps-backup-Not4me', ...older, expect.anything()])
  })

  test('deletes none if the backup fails', async () => {
    const { backUp } = await startNights(older, 'sqlite:/missing/apps.sqlite')
    const { status, stderr, kept } = backUp('1')
    expect(kept).toEqual(older)
    expect([status, stderr]).toEqual([1, expect.stringContaining('/missing/apps.sqlite')])
  })

  test.for(['0', '-1', '', 'all', '1.5', '1 2'])('refuses KEEP=%s', async (keep) => {
    const { backUp } = await startNights(older)
    expect(backUp(keep)).toEqual({
      status: 1,
      stderr: `apps-service-backup: KEEP must be a whole number from 1, not "${keep}"\n`,
      kept: older,
      added: [],
    })
  })
})
