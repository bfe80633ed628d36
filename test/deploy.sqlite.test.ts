import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseSettings } from '../deploy/with-settings.ts'
import { exitLimit } from '../src/servers.ts'
import { copyWorld, filePath, temporaryFolder } from './support/database.ts'
import { freePort } from './support/free-port.ts'
import { commandLine, executable, startListening } from './support/process.ts'
import { settingLines } from './support/setting-lines.ts'
import { settingNames } from './support/settings.ts'

/**
 * The scripts of deploy/, and what its files must have in common with the code and the documents.
 * test/judges/deploy.judge.ts has the tools that read these files.
 */

const root = join(import.meta.dirname, '..')
const deploy = join(root, 'deploy')

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
)

/** The environment of the container image, and the command that checks its health. */
function readContainerfile() {
  const text = readFileSync(join(root, 'deploy/Containerfile'), 'utf8')
  const [, variables = ''] = /^ENV (.+)$/m.exec(text) ?? []
  const environment = Object.fromEntries(
    variables.split(' ').map((variable): [string, string] => {
      const [name = '', value = ''] = variable.split('=')
      return [name, value]
    }),
  )
  const check = / CMD (\[.+\])$/m.exec(text)?.[1] ?? ''
  return { environment, healthCheck: JSON.parse(check) as string[] }
}

test("the image's environment serves other machines, and its health check sees a hang", async () => {
  const { environment, healthCheck } = readContainerfile()
  // Of the image's files, and the port of its network.
  const { PATH: _, PORT: __, ...others } = environment
  const env = { ...others, DATABASE_URL: `sqlite:${join(temporaryFolder(), 'apps.sqlite')}` }
  execFileSync(executable, ['migrate'], { env: { PATH: process.env.PATH, ...env } })
  const metricsPort = await freePort()
  const server = await startListening('serve', { ...env, METRICS_PORT: String(metricsPort) })
  // On Linux, 127.0.0.2 is an address that only a server for all addresses listens on.
  for (const host of ['127.0.0.2', ...(hasIpv6 ? ['[::1]'] : [])])
    for (const path of [`${server.port}/readyz`, `${metricsPort}/metrics`])
      expect([host, path, (await fetch(`http://${host}:${path}`)).status]).toEqual([
        host,
        path,
        200,
      ])

  const [, ...args] = healthCheck
  const isHealthy = (timeout = 60_000) =>
    spawnSync(process.execPath, args, { env: { PORT: String(server.port) }, timeout }).status === 0
  expect(isHealthy()).toBe(true)
  // A restart would not bring the database back: only the proxy must notice.
  const file = filePath(env.DATABASE_URL)
  for (let time = 0; time < 2; time++) {
    renameSync(file, `${file}.away`)
    expect((await fetch(`http://127.0.0.1:${server.port}/readyz`)).status).toBe(503)
    expect(isHealthy()).toBe(true)
    renameSync(`${file}.away`, file)
    expect((await fetch(`http://127.0.0.1:${server.port}/readyz`)).status).toBe(200)
  }
  server.process.kill('SIGSTOP')
  expect(isHealthy(2_000)).toBe(false)
  server.process.kill('SIGCONT')
})

/** Only root can run a command as another account, which may be unable to enter the clone. */
const canChangeAccount = spawnSync('test', ['-x', executable], { uid: 10_001 }).status === 0

test.runIf(canChangeAccount)(
  'accounts of group 0, as OpenShift chooses one at each start, share the database',
  async () => {
    const folder = temporaryFolder()
    chmodSync(folder, 0o755)
    const data = join(folder, 'data')
    // What the image does with the directory and the executable.
    const [, owner = '', umask = ''] =
      /^RUN install (.*) \/data && sed -i '1a (umask \d+)' apps-service$/m.exec(
        readFileSync(join(deploy, 'Containerfile'), 'utf8'),
      ) ?? []
    execFileSync('install', [...owner.split(' '), data])
    const run = (uid: number, ...args: string[]) =>
      spawnSync('/bin/sh', ['-c', `${umask}; exec "$0" "$@"`, executable, ...args], {
        uid,
        gid: 0,
        cwd: data,
        env: { PATH: process.env.PATH, DATABASE_URL: `sqlite:${join(data, 'apps.sqlite')}` },
        encoding: 'utf8',
      })
    for (const [uid, ...args] of [
      [10_001, 'migrate'],
      [1_000_660_000, 'category', 'add', '--slug', 'games', '--name', 'Games'],
      [10_001, 'category', 'rename', 'games', '--name', 'Game'],
      [1_000_770_000, 'backup', 'backup.sqlite'],
    ] as const) {
      const { status, stderr } = run(uid, ...args)
      expect([uid, args, status, stderr]).toEqual([uid, args, 0, expect.any(String)])
    }
    for (const name of ['apps.sqlite', 'backup.sqlite']) {
      const { mode, gid } = statSync(join(data, name))
      expect([name, (mode & 0o777).toString(8), gid]).toEqual([name, '660', 0])
    }
  },
)

test('compose.yaml: only the proxy can be reached from other machines', () => {
  const { services }: { services: Record<string, { ports?: string[] }> } = parse(
    readFileSync(join(deploy, 'compose.yaml'), 'utf8'),
    { merge: true },
  )
  const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
    ports.some((port) => !port.startsWith('127.0.0.1:')) ? [name] : [],
  )
  expect(published).toEqual(['proxy'])
})

const units = readdirSync(deploy).filter((name) => /\.(service|timer)$/.test(name))
const readUnit = (name: string) =>
  readFileSync(join(deploy, name), 'utf8').replaceAll(/^#.*$/gm, '')

/** The last value of a setting. */
const settingOf = (unit: string, setting: string) =>
  readUnit(unit)
    .match(new RegExp(`(?<=^${setting}=).*`, 'gm'))
    ?.at(-1)

/** A service may write its database, and little else. */
const limitsOfServices = `
User=apps-service
StateDirectory=apps-service
StateDirectoryMode=0750
UMask=0077
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProcSubset=pid
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM`

const restarted = 'Restart=on-failure\nRestartSec=2\nKillSignal=SIGTERM\nLimitNOFILE=65536'

/** What each unit needs besides its program. Settings have one value, except filters of calls. */
const requiredLines: Record<string, string> = {
  'apps-service.service': `${limitsOfServices}
${restarted}
WantedBy=multi-user.target
After=network-online.target
TimeoutStartSec=infinity`,
  'apps-service-moderation.service': `${limitsOfServices}
${restarted}
WantedBy=apps-service.service
PartOf=apps-service.service
After=apps-service.service
After=network-online.target`,
  'apps-service-backup.service': `${limitsOfServices}
Type=oneshot
TimeoutStartSec=infinity
ReadWritePaths=/var/backups/apps-service`,
  'apps-service-backup.timer': `
OnCalendar=*-*-* 03:00:00
Persistent=yes
WantedBy=timers.target`,
  'apps-service-export.service': `${limitsOfServices}
Type=oneshot
TimeoutStartSec=infinity
CacheDirectory=apps-service-export
CacheDirectoryMode=0755`,
  'apps-service-export.timer': `
OnCalendar=hourly
Persistent=yes
WantedBy=timers.target`,
  'apps-service-mirror.service': `${limitsOfServices}
Type=oneshot
TimeoutStartSec=infinity
After=network-online.target`,
  'apps-service-mirror.timer': `
OnCalendar=hourly
RandomizedDelaySec=30min
Persistent=yes
WantedBy=timers.target`,
  'apps-service-notify.service': `${limitsOfServices}
Type=oneshot
TimeoutStartSec=10min
MemoryMax=512M
After=network-online.target`,
  'apps-service-notify.timer': `
OnCalendar=*:0/5
Persistent=yes
WantedBy=timers.target`,
}

test.for(units)('%s has the lines that it needs, and no others for the same settings', (unit) => {
  const required = (requiredLines[unit] ?? 'an entry in requiredLines').split('\n').filter(Boolean)
  const settings = new Set(required.map((line) => line.replace(/=.*/, '')))
  const found = readUnit(unit)
    .split('\n')
    .filter((line) => settings.has(line.replace(/=.*/, '')))
  expect(found.toSorted()).toEqual(required.toSorted())
})

test.for(['apps-service.service', 'apps-service-moderation.service'])(
  '%s is reached through the proxy of its machine only',
  (unit) => expect(settingOf(unit, 'Environment')).toContain('HOST=127.0.0.1 '),
)

test.for(units)('%s names files of the clone, and directories that the documents name', (unit) => {
  const documents = ['running', 'moderating', 'moving-data'].map((name) =>
    readFileSync(join(root, `docs/${name}.md`), 'utf8'),
  )
  const paths = readUnit(unit).match(/(?<![\w.])\/(opt|etc|var)\/[\w./-]+/g) ?? []
  const missing = paths.filter((path) =>
    path.startsWith('/opt/')
      ? !existsSync(path.replace('/opt/apps-service', root))
      : !documents.some((text) => text.includes(path)),
  )
  expect(missing).toEqual([])
})

test('each file of deploy/ and each unit that a document names is there', () => {
  const documents = ['README.md', ...globSync('docs/*.md', { cwd: root })]
  const text = documents.map((name) => readFileSync(join(root, name), 'utf8')).join('\n')
  const named =
    text.match(/(?<=\bdeploy\/)[\w.-]+\w|\bapps-service(-[a-z]+)?\.(service|timer)\b/g) ?? []
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => !existsSync(join(deploy, name)))).toEqual([])
})

test('whatever stops a server waits until it has exited by itself', () => {
  const compose = readFileSync(join(deploy, 'compose.yaml'), 'utf8')
  const server = compose.slice(compose.indexOf('  server-1:'))
  const page = readFileSync(join(root, 'docs/running.md'), 'utf8')
  const seconds = [
    settingOf('apps-service.service', 'TimeoutStopSec'),
    settingOf('apps-service-moderation.service', 'TimeoutStopSec'),
    /stop_grace_period: (\d+)s/.exec(server)?.[1],
    ...(page.match(/(?<=--stop-timeout )\d+/g) ?? []),
  ]
  expect(seconds.length).toBeGreaterThan(3)
  for (const value of seconds) expect(Number(value)).toBeGreaterThan(exitLimit / 1000 + 3)
})

test('the settings of the units are variables of the service, and its database is where they may write', () => {
  const text = readFileSync(join(deploy, 'apps-service.env'), 'utf8')
  const used = text.match(/(?<=^#?)[A-Z_]+(?==)/gm) ?? []
  expect(settingNames()).toEqual(expect.arrayContaining(used))
  // A comment would be part of the value.
  expect(text).not.toMatch(/^\w+=.*#/m)
  const { DATABASE_URL } = parseSettings(text).settings
  expect(DATABASE_URL).toMatch(/^sqlite:\/var\/lib\/apps-service\//)
  // The server would create an empty one.
  expect(DATABASE_URL).toBe(`sqlite:${settingOf('apps-service.service', 'AssertPathExists')}`)
})

test('as-service-account.sh needs root', () => {
  const { status, stderr } = spawnSync(join(deploy, 'as-service-account.sh'), ['status'], {
    encoding: 'utf8',
    ...(process.getuid?.() === 0 && { uid: 65_534 }),
  })
  expect([status, stderr]).toEqual([1, expect.stringContaining('sudo apps-service status\n')])
})

/** Runs a program with only these variables and PATH. */
function runWith(
  program: string,
  args: string[],
  variables: Record<string, string> = {},
  cwd?: string,
) {
  const { status, signal, stdout, stderr } = spawnSync(program, args, {
    cwd,
    env: { PATH: process.env.PATH, ...variables },
    encoding: 'utf8',
  })
  return { status: status ?? signal, stdout, stderr }
}

describe('with-settings.ts', () => {
  const launcher = join(deploy, 'with-settings.ts')

  function writeSettings(text: string | Buffer) {
    const file = join(temporaryFolder(), 'settings.env')
    writeFileSync(file, text)
    return file
  }

  /** The variables of a command that it has become, besides PATH. */
  function variablesOf(file: string, environment: Record<string, string> = {}, ...flags: string[]) {
    const args = [launcher, ...flags, file, '/usr/bin/env', '-0']
    const { status, stdout, stderr } = runWith(process.execPath, args, environment)
    const variables = Object.fromEntries(
      stdout.split('\0').map((line) => /^([^=]*)=?([\s\S]*)$/.exec(line)?.slice(1) ?? []),
    )
    const { PATH: _, '': __, APPS_SERVICE_COMMAND: ___, ...others } = variables
    return { status, stderr, variables: others }
  }

  test.for(settingLines)('reads %j as systemd does', ([text, variables, ignored = []]) => {
    expect(parseSettings(text)).toEqual({ settings: variables, ignoredLines: ignored })
  })

  test('reports the lines that it ignores', () => {
    const file = writeSettings('none\nA=1\n2=x\n')
    const report = [1, 3].map(
      (line) => `apps-service: ${file}: line ${line} is ignored, since it is not NAME=value\n`,
    )
    expect(variablesOf(file)).toEqual({ status: 0, stderr: report.join(''), variables: { A: '1' } })
  })

  test('a setting replaces a variable, or, if the environment is first, only adds one', () => {
    const file = writeSettings('A=file\nB=file\n')
    const environment = { B: 'environment', C: 'environment' }
    expect(variablesOf(file, environment).variables).toEqual({
      ...environment,
      A: 'file',
      B: 'file',
    })
    expect(variablesOf(file, environment, '--environment-first').variables).toEqual({
      ...environment,
      A: 'file',
    })
  })

  test('the command has its arguments, input, exit code and the process id', () => {
    const script = 'printf "%s|" "$@"; cat; [ "$PPID" = "$PARENT" ] && exit 7'
    const args = [launcher, writeSettings(''), '/bin/sh', '-c', script, 'sh', 'A B', '', '--json']
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      env: { PARENT: String(process.pid) },
      input: 'input',
      encoding: 'utf8',
    })
    expect([status, stdout, stderr]).toEqual([7, 'A B||--json|input', ''])
  })

  test('a command of a unit prints commands as people type them', () => {
    const file = writeSettings('DATABASE_URL=sqlite:/missing/live.sqlite\n')
    const { stderr } = runWith(process.execPath, [
      launcher,
      file,
      join(root, 'apps-service'),
      'serve',
    ])
    expect(stderr).toContain(' does not exist; sudo apps-service migrate creates ')
  })

  test('does not start the command if the settings cannot be read', () => {
    const [missing, binary] = [join(temporaryFolder(), 'none'), writeSettings(Buffer.from([0xff]))]
    for (const [file, reason] of [
      [missing, 'no such file or directory\n'],
      [binary, 'The encoded data was not valid'],
    ] as const) {
      expect(runWith(process.execPath, [launcher, file, '/bin/echo', 'started'])).toEqual({
        status: 1,
        stdout: '',
        stderr: expect.stringContaining(
          `apps-service: cannot read the settings in ${file}: ${reason}`,
        ),
      })
    }
  })
})

/** The wrapper in a clone whose settings are the test's, run by a stub of setpriv, as if by root. */
function startWrapper(settings: string) {
  const folder = temporaryFolder()
  const home = join(folder, 'a clone with spaces')
  mkdirSync(join(home, 'deploy'), { recursive: true })
  for (const name of ['node_modules', 'src', 'generated', 'deploy/with-settings.ts'])
    symlinkSync(join(root, name), join(home, name))
  const file = join(folder, 'settings.env')
  writeFileSync(file, settings)
  const script = readFileSync(join(deploy, 'as-service-account.sh'), 'utf8')
  expect(script.split('/etc/apps-service/apps-service.env')).toHaveLength(2)
  const wrapper = join(home, 'deploy/as-service-account.sh')
  writeFileSync(wrapper, script.replace('/etc/apps-service/apps-service.env', file), {
    mode: 0o755,
  })
  symlinkSync(wrapper, join(folder, 'apps-service'))
  const stub = (name: string, text: string) =>
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  stub('id', 'case $1 in -u) echo 0;; *) echo root;; esac')
  stub(
    'setpriv',
    `printf '%s\\n' "$OPERATOR" "$APPS_SERVICE_COMMAND" "$@" >'${folder}/passed'
    [ -z "$RECORD" ] || exit 0
    while [ "\${1#--}" != "$1" ]; do shift; done
    exec "$@"`,
  )
  return {
    file: join(folder, 'apps-service'),
    run: (args: string[], variables: Record<string, string> = {}, cwd?: string) => {
      const environment = { ...variables, PATH: `${folder}:${process.env.PATH}` }
      return runWith(join(folder, 'apps-service'), args, environment, cwd)
    },
    /** What setpriv would run, and with which variables. */
    record: (args: string[], variables: Record<string, string> = {}) => {
      const environment = { ...variables, RECORD: '1', PATH: `${folder}:${process.env.PATH}` }
      const { status, stderr } = runWith(join(folder, 'apps-service'), args, environment)
      expect([status, stderr]).toEqual([0, ''])
      const [operator, command, ...passed] = readFileSync(join(folder, 'passed'), 'utf8').split(
        '\n',
      )
      return { operator, command, passed: passed.slice(0, -1) }
    },
  }
}

describe('as-service-account.sh', () => {
  test('changes to the account of the units, and passes each argument as it is', () => {
    const args = ['category', 'list', 'A B', '', '*', "it's", '--', '-x']
    const { passed } = startWrapper('').record(args)
    expect(passed.slice(0, 3)).toEqual([
      '--reuid=apps-service',
      '--regid=apps-service',
      '--init-groups',
    ])
    expect(passed.slice(-args.length)).toEqual(args)
  })

  test.for<[operator: string, variables: Record<string, string>]>([
    ['ada', { SUDO_USER: 'ada', OPERATOR: 'Bo' }],
    ['Bo', { OPERATOR: 'Bo' }],
    ['root', {}],
  ])('the operator is %s with the variables %j', ([operator, variables]) => {
    expect(startWrapper('').record(['status'], variables)).toMatchObject({ operator })
  })

  test.for<[command: string, by: string, variables: (file: string) => Record<string, string>]>([
    ['sudo apps-service', 'sudo', (file) => ({ SUDO_COMMAND: `${file} status` })],
    ['sudo apps-service', 'sudo without arguments', (file) => ({ SUDO_COMMAND: file })],
    ['apps-service', 'root in a shell of sudo', () => ({ SUDO_COMMAND: '/bin/bash' })],
    ['apps-service', 'another command', (file) => ({ SUDO_COMMAND: `${file}-2 status` })],
    ['apps-service', 'root', () => ({})],
    ['apps-service', 'root, whatever it set', () => ({ APPS_SERVICE_COMMAND: 'other' })],
  ])('printed commands begin with %s, run by %s', ([command, , variables]) => {
    const { file, record } = startWrapper('')
    expect(record(['status'], variables(file))).toMatchObject({ command })
  })

  test('runs a command for its caller, whose variables win over the settings', async () => {
    const databaseUrl = await copyWorld()
    const { run } = startWrapper('DATABASE_URL=sqlite:/missing/live.sqlite\nOPERATOR=file\n')
    const added = run(['category', 'add', '--slug', 'c', '--name', 'The C B'], {
      DATABASE_URL: databaseUrl,
      SUDO_USER: 'ada',
    })
    expect(added).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('The C B'),
      stderr: '',
    })
    const [entry] = await commandLine(databaseUrl).json('audit', '--limit', '1')
    expect(entry.operator_name).toBe('ada')
  })

  test('the .env of the caller is not read', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, '.env'), 'PORT=none\nREAD_LIMIT=lots\n')
    const { run } = startWrapper(`DATABASE_URL=${await copyWorld()}\n`)
    expect(run(['status'], {}, folder)).toMatchObject({ status: 0, stderr: '' })
  })

  test('status shows the newest backup in the directory of the unit', async () => {
    const script = readFileSync(join(deploy, 'as-service-account.sh'), 'utf8')
    const [, directory] = /^export APPS_SERVICE_BACKUPS=(.+)$/m.exec(script) ?? []
    const unit = 'apps-service-backup.service'
    expect(directory).toBe(settingOf(unit, 'ReadWritePaths'))
    expect(settingOf(unit, 'ExecStart')).toContain(`/deploy/backup.sh ${directory}`)
    const { run } = startWrapper(`DATABASE_URL=${await copyWorld()}\n`)
    const { stdout } = run(['status'])
    expect(/^Last backup/m.test(stdout)).toBe(existsSync(directory ?? ''))
  })

  test('status reads the settings as the units do', async () => {
    const settings = [
      `DATABASE_URL=${await copyWorld()}`,
      'export PORT=none',
      'BASE_URL=http://a #b',
    ]
    const { status, stderr } = startWrapper(settings.join('\n')).run(['status'])
    expect(status).toBe(1)
    expect(stderr).toContain('line 2 is ignored')
    expect(stderr).toContain('not "http://a #b"')
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
    // The last line of each looks like a backup.
    'notes\napps-2025-01-01T03-04-05Z.sqlite',
    'apps-2126-01-01T03-04-05Z.sqlite\napps-2126-01-01T03-04-05Z.sqlite',
  ]
  const otherDirectories = ['2025-01-01T03-04-05Z', '2127-01-01T03-04-05Z'].map(nameOf)
  const otherNames = [...others, ...otherDirectories].toSorted()

  /**
   * A directory of backups, and what a night adds and deletes there. `stub` replaces programs. The
   * backups are empty files, unless there is a database.
   */
  function startNights(names: string[], databaseUrl = '') {
    const folder = temporaryFolder()
    const directory = join(folder, 'a directory with spaces')
    mkdirSync(directory)
    for (const name of [...names, ...others]) writeFileSync(join(directory, name), '')
    for (const name of otherDirectories) mkdirSync(join(directory, name))
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      TZ: process.env.TZ,
      DATABASE_URL: databaseUrl,
    }
    const script = join(folder, 'deploy/backup.sh')
    cpSync(join(deploy, 'backup.sh'), script)
    const stub = (program: string, script: string) =>
      writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    stub('apps-service', databaseUrl ? `exec '${executable}' "$@"` : '[ "$1" = backup ] && : >"$2"')
    const list = () => readdirSync(directory).filter((name) => !otherNames.includes(name))
    function backUp(keep: string) {
      const before = list()
      const { status, stderr } = spawnSync(script, [directory], {
        env: { ...env, KEEP: keep },
        encoding: 'utf8',
      })
      expect(readdirSync(directory)).toEqual(expect.arrayContaining(otherNames))
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
  ] as const)('KEEP=%s keeps that many, with the new one, and other files', ([keep, kept]) => {
    const { added, ...result } = startNights(older).backUp(keep)
    expect(added).toEqual([
      expect.stringMatching(/^apps-20\d\d-\d\d-\d\dT\d\d-\d\d-\d\dZ\.sqlite$/),
    ])
    expect(result).toEqual({ status: 0, stderr: '', kept: [...kept, ...added] })
  })

  test('backs up the database, and deletes after a day what a killed backup left', async () => {
    const { directory, backUp } = startNights(older, await copyWorld())
    for (const name of ['.apps-backup-Yes4me', '.apps-backup-Not4me']) {
      mkdirSync(join(directory, name))
      writeFileSync(join(directory, name, nameOf('2026-01-03T03-04-05Z')), '')
    }
    utimesSync(join(directory, '.apps-backup-Yes4me', nameOf('2026-01-03T03-04-05Z')), 0, 0)
    const { kept } = backUp('14')
    expect(kept).toEqual(['.apps-backup-Not4me', ...older, expect.anything()])
    const restored = commandLine(`sqlite:${join(directory, kept.at(-1) ?? '')}`)
    expect((await restored.run('status')).code).toBe(0)
  })

  test.for(['1', '2'])(
    'with KEEP=%s and names in the future, the new one is kept, each night, and they are reported',
    (keep) => {
      const { directory, backUp, stub } = startNights([...older, ...later])
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

  test('with a clock that is behind, nothing is deleted', () => {
    const { directory, backUp, stub } = startNights(older)
    stub('date', 'exec /bin/date --date=1970-01-01T00:00:07Z "$@"')
    expect(backUp('1')).toEqual({
      status: 1,
      stderr: inFuture(directory, older).join(''),
      kept: [nameOf('1970-01-01T00-00-07Z'), ...older],
      added: [nameOf('1970-01-01T00-00-07Z')],
    })
  })

  test('the backup of another run that began later is kept, and not reported', () => {
    const { directory, backUp, stub } = startNights(older)
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

  test('deletes none if the backup fails', () => {
    const { backUp, stub } = startNights(older)
    stub('apps-service', 'exit 1')
    expect(backUp('1')).toMatchObject({ status: 1, kept: older })
  })

  test('says that the directory cannot be entered', () => {
    const directory = join(temporaryFolder(), 'missing')
    const { status, stderr } = runWith(join(deploy, 'backup.sh'), [directory], { KEEP: '1' })
    expect([status, stderr]).toEqual([1, expect.stringContaining(`cannot enter ${directory}`)])
  })

  test.for(['0', '-1', '', 'all', '1.5', '1 2'])('refuses KEEP=%s', (keep) => {
    const { backUp } = startNights(older)
    const stderr = expect.stringContaining(`not "${keep}"`)
    expect(backUp(keep)).toEqual({ status: 1, stderr, kept: older, added: [] })
  })
})
