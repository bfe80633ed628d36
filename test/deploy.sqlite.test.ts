import { execFileSync, spawnSync } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
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
import { required } from '../src/util/helpers.ts'
import { copyWorld, filePath, temporaryFolder } from './support/database.ts'
import { freePort } from './support/free-port.ts'
import { commandLine, executable, startListening } from './support/process.ts'
import { settingLines } from './support/setting-lines.ts'

/** The files of deploy/ that need no other tools. */

const root = join(import.meta.dirname, '..')
const deploy = join(root, 'deploy')

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
)

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

  const [program, ...args] = healthCheck
  expect(program).toBe('node')
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

test('the image runs as an account of its own, and says what it keeps and listens on', () => {
  const text = readFileSync(join(deploy, 'Containerfile'), 'utf8')
  const instructions = (name: string) =>
    [...text.matchAll(new RegExp(`^${name} (.+)$`, 'gm'))].map(([, value]) => value)
  const directory = '--directory --owner=10001 --group=0 --mode=2770 /data'
  expect(instructions('RUN').at(-1)).toBe(
    `install ${directory} && sed -i '1a umask 0007' apps-service`,
  )
  expect(instructions('USER')).toEqual(['10001:0'])
  expect(instructions('VOLUME')).toEqual(['/data'])
  expect(instructions('EXPOSE')).toEqual(['3000'])
  expect(instructions('ENTRYPOINT')).toEqual(['["/app/apps-service"]'])
  // As README and docs/running.md write commands of a container.
  expect(instructions('ENV')).toContain('APPS_SERVICE_COMMAND=./apps-service')
  // SIGTERM, the default, is the signal that the server expects.
  expect(instructions('STOPSIGNAL')).toEqual([])
  const [check = ''] = instructions('HEALTHCHECK')
  const seconds = Object.fromEntries(
    [...check.matchAll(/--([a-z-]+)=(\d+)/g)].map(([, name, value]) => [name, Number(value)]),
  )
  expect(seconds).toEqual({ interval: 10, timeout: 5, 'start-period': 10, retries: 3 })
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
      [1_000_770_000, 'category', 'add', '--slug', 'tools', '--name', 'Tools'],
      [10_001, 'category', 'rename', 'tools', '--name', 'Tool'],
      [1_000_660_000, 'backup', 'backup.sqlite'],
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

type ComposeService = {
  environment?: Record<string, unknown>
  ports?: string[]
  depends_on?: string[] | Record<string, { condition: string }>
  [setting: string]: unknown
}

describe('compose.yaml', () => {
  const compose: {
    services: Record<string, ComposeService>
    volumes: Record<string, unknown>
  } = parse(readFileSync(join(deploy, 'compose.yaml'), 'utf8'), { merge: true })
  const { services } = compose
  const service = (name: string) => required(services[name], name)

  test('only the proxy can be reached from other machines, and the page from this one', () => {
    const ports = Object.entries(services).flatMap(([name, { ports }]) =>
      ports ? [[name, ports]] : [],
    )
    expect(Object.fromEntries(ports)).toEqual({
      moderation: ['127.0.0.1:3001:3000'],
      proxy: ['80:80', '443:443', '443:443/udp'],
    })
    expect(service('moderation').environment).toMatchObject({
      MODERATION_PORT: 3000,
      TRUST_PROXY: 0,
    })
  })

  test.for(['migrate', 'server-1', 'server-2', 'moderation'])(
    '%s is restricted, and uses the database of the others',
    (name) => {
      expect(service(name)).toMatchObject({
        image: 'apps-service',
        read_only: true,
        tmpfs: ['/tmp'],
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        environment: {
          DATABASE_URL: 'postgres://apps@database/apps',
          PGPASSWORD: expect.stringMatching(/^\$\{DATABASE_PASSWORD:\?/),
          BASE_URL: expect.stringMatching(/^https:\/\/\$\{DOMAIN:\?/),
        },
      })
    },
  )

  test('the database is ready before it is migrated, and migrated before it is served', () => {
    const database = service('database')
    expect(database.environment).toMatchObject({ POSTGRES_USER: 'apps' })
    expect(database.volumes).toEqual(['database:/var/lib/postgresql/data'])
    expect(database.healthcheck).toMatchObject({ test: expect.stringContaining('pg_isready') })
    expect(service('migrate')).toMatchObject({
      command: ['migrate'],
      restart: 'on-failure',
      depends_on: { database: { condition: 'service_healthy' } },
    })
    for (const name of ['server-1', 'server-2', 'moderation'])
      expect(service(name)).toMatchObject({
        restart: 'unless-stopped',
        depends_on: { migrate: { condition: 'service_completed_successfully' } },
      })
    expect(service('server-1').environment).toMatchObject({ TRUST_PROXY: 1 })
    expect(service('server-2')).toEqual(service('server-1'))
    expect(service('moderation').command).toEqual(['moderation', 'serve'])
  })

  test('the proxy keeps its certificates, and knows every server', () => {
    expect(service('proxy').volumes).toEqual([
      './Caddyfile:/etc/caddy/Caddyfile:ro',
      'certificates:/data',
    ])
    expect(Object.keys(compose.volumes)).toEqual(['database', 'certificates'])
    const caddyfile = readFileSync(join(deploy, 'Caddyfile'), 'utf8')
    const upstreams = [...caddyfile.matchAll(/\b([a-z]+-\d):(\d+)\b/g)]
    expect(upstreams.map(([, name]) => name)).toEqual(service('proxy').depends_on)
    expect(new Set(upstreams.map(([, , port]) => port))).toEqual(
      new Set([readContainerfile().environment.PORT]),
    )
  })
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

const settingsFile = Object.fromEntries(
  [...readFileSync(join(deploy, 'apps-service.env'), 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  ),
)
const units = readdirSync(deploy).filter((name) => name.endsWith('.service'))
const timers = readdirSync(deploy).filter((name) => name.endsWith('.timer'))

/** The lines of a unit that restrict what the service may do. */
const restrictions = (unit: string) =>
  readFileSync(join(deploy, unit), 'utf8')
    .split('\n')
    .filter((line) =>
      /^(Ambient|Cap|Keyring|Lock|No|Private|Proc|Protect|Remove|Restrict|State|System|UMask)/.test(
        line,
      ),
    )

/** How a unit runs a command: with the settings, read as as-service-account.sh reads them. */
const withSettings =
  /^Exec\w+=\/opt\/apps-service\/node_modules\/\.bin\/node \/opt\/apps-service\/deploy\/with-settings\.ts (--environment-first )?\/etc\/apps-service\/apps-service\.env (?=\/opt\/)/

/** The command of a unit, without what sets the settings. */
const commandOf = (name: string, setting: string) =>
  `${setting}=${readUnit(name)(setting)}`.replace(withSettings, '')

describe.for(units)('%s', (name) => {
  const unit = readUnit(name)
  const text = readFileSync(join(deploy, name), 'utf8')

  test('is restricted as the server is', () => {
    expect(restrictions(name)).toEqual(restrictions('apps-service.service'))
    // Switched on, or limited to these.
    expect(restrictions(name).filter((line) => !line.endsWith('=yes'))).toEqual([
      'StateDirectory=apps-service',
      'StateDirectoryMode=0750',
      'UMask=0077',
      'ProtectSystem=strict',
      'ProtectProc=invisible',
      'ProcSubset=pid',
      'CapabilityBoundingSet=',
      'AmbientCapabilities=',
      'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
      'KeyringMode=private',
      'SystemCallArchitectures=native',
      'SystemCallFilter=@system-service',
      'SystemCallFilter=~@privileged @resources',
      'SystemCallErrorNumber=EPERM',
    ])
    expect(restrictions(name).filter((line) => line.endsWith('=yes'))).toHaveLength(16)
  })

  test('has the account and the settings of the others, and writes where its database is', () => {
    expect(unit('User')).toBe('apps-service')
    expect(unit('WorkingDirectory')).toBe('/opt/apps-service')
    const commands = text.match(/^Exec.*$/gm) ?? []
    expect(commands).not.toEqual([])
    // systemd would read the settings by other rules than as-service-account.sh.
    for (const command of commands) expect(command).toMatch(withSettings)
    expect(unit('EnvironmentFile')).not.toContain('apps-service.env')
    const directory = `/var/lib/${unit('StateDirectory')}/`
    expect(settingsFile.DATABASE_URL).toMatch(new RegExp(`^sqlite:${directory}[^/]+$`))
  })

  test('runs programs of the clone', () => {
    for (const setting of ['ExecStartPre', 'ExecStart'].filter(unit)) {
      const programs = [unit(setting), commandOf(name, setting)].map((command) =>
        (command.split(' ', 1)[0] ?? '').replace('/opt/apps-service', root),
      )
      for (const program of programs) accessSync(program, constants.X_OK)
      for (const [path] of unit(setting).matchAll(/\/opt\/\S+/g))
        expect([path, existsSync(path.replace('/opt/apps-service', root))]).toEqual([path, true])
    }
  })
})

test('the server migrates first, however long that takes, and the page follows', () => {
  const server = readUnit('apps-service.service')
  const command = (name: string, setting = 'ExecStart') => commandOf(`${name}.service`, setting)
  expect(command('apps-service', 'ExecStartPre')).toBe('/opt/apps-service/apps-service migrate')
  expect(command('apps-service')).toBe('/opt/apps-service/apps-service serve')
  expect(command('apps-service-moderation')).toBe('/opt/apps-service/apps-service moderation serve')
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
  const directory = '/var/backups/apps-service'
  expect(commandOf('apps-service-backup.service', 'ExecStart')).toBe(
    `/opt/apps-service/deploy/backup.sh ${directory}`,
  )
  expect(unit('ReadWritePaths')).toBe(directory)
  expect(unit('Environment')).toBe('KEEP=14')
})

test('the notify unit has the file with its secret, which replaces settings, and a limit of memory', () => {
  const unit = readUnit('apps-service-notify.service')
  expect(commandOf('apps-service-notify.service', 'ExecStart')).toBe(
    '/opt/apps-service/node_modules/.bin/node /opt/apps-service/deploy/notify.ts',
  )
  expect(unit('EnvironmentFile')).toBe('/etc/apps-service/notify.env')
  expect(unit('ExecStart')).toContain(' --environment-first ')
  expect(unit('MemoryMax')).toBe('512M')
})

test.for<[timer: string, settings: Record<string, string>]>([
  ['apps-service-backup.timer', { OnCalendar: '*-*-* 03:00:00', RandomizedDelaySec: '30min' }],
  ['apps-service-notify.timer', { OnCalendar: '*:0/5', RandomizedDelaySec: '' }],
])('%s runs as often as the documents say', ([name, settings]) => {
  const timer = readUnit(name)
  for (const [setting, value] of Object.entries(settings)) expect(timer(setting)).toBe(value)
})

/** Absolute paths outside /opt that a text names, without a dot at the end. */
const pathsIn = (text: string, directories: string) =>
  [...text.matchAll(new RegExp(`(?<![\\w/.])/(?:${directories})/[\\w./-]*\\w`, 'g'))].map(
    ([path]) => path,
  )

test('each file that the units name is named in the documents, and back', () => {
  const documents = ['docs/running.md', 'docs/moderating.md', 'README.md']
    .map((name) => readFileSync(join(root, name), 'utf8'))
    .join('\n')
  const directories = 'etc/apps-service|var/lib/apps-service|var/backups/apps-service'
  const inUnits = units.flatMap((name) => {
    const unit = readFileSync(join(deploy, name), 'utf8').replaceAll(/^#.*$/gm, '')
    return pathsIn(unit, 'etc|var')
  })
  expect(new Set(inUnits)).toEqual(
    new Set([
      '/etc/apps-service/apps-service.env',
      '/etc/apps-service/notify.env',
      '/var/backups/apps-service',
      '/var/lib/apps-service/apps.sqlite',
    ]),
  )
  for (const path of inUnits) expect(documents).toContain(path)
  const settings = pathsIn(documents, directories).filter((path) => path.startsWith('/etc/'))
  expect(new Set(settings)).toEqual(new Set(inUnits.filter((path) => path.startsWith('/etc/'))))
  const named = [...documents.matchAll(/\bdeploy\/([\w.-]+\w)/g)].map(([, name = '']) => name)
  expect(named.length).toBeGreaterThan(5)
  for (const name of named) expect(readdirSync(deploy)).toContain(name)
  const unitNames = [...documents.matchAll(/\bapps-service(?:-[a-z]+)?\.(?:service|timer)\b/g)]
  for (const [name] of unitNames) expect([...units, ...timers]).toContain(name)
  // The documents start each unit by its name or by that of its timer.
  for (const name of [...units, ...timers]) {
    const [started = ''] = name.split('.')
    expect([name, documents.includes(started)]).toEqual([name, true])
  }
  for (const name of [...units, ...timers]) {
    const unit = readFileSync(join(deploy, name), 'utf8')
    for (const page of pathsIn(unit.replaceAll('file:///opt/apps-service', '/clone'), 'clone'))
      expect(existsSync(page.replace('/clone', root))).toBe(true)
  }
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
  // It would be part of the value.
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
    `printf '%s\\n' "$@" >'${folder}/arguments'
    while [ "\${1#--}" != "$1" ]; do shift; done
    exec "$@"`,
  )
  return {
    file: join(folder, 'apps-service'),
    run: (args: string[], variables: Record<string, string> = {}, cwd?: string) => {
      const environment = { ...variables, PATH: `${folder}:${process.env.PATH}` }
      return runWith(join(folder, 'apps-service'), args, environment, cwd)
    },
    /** What setpriv got. */
    passed: () => readFileSync(join(folder, 'arguments'), 'utf8').split('\n').slice(0, -1),
  }
}

describe('as-service-account.sh', () => {
  test('changes to the account of the units, and passes each argument as it is', () => {
    const { run, passed } = startWrapper('')
    const args = ['category', 'list', 'A B', '', '*', "it's", '--', '-x']
    run(args)
    expect(passed().slice(0, 3)).toEqual([
      '--reuid=apps-service',
      '--regid=apps-service',
      '--init-groups',
    ])
    expect(passed().slice(-args.length)).toEqual(args)
  })

  test('the audit log has the name of the caller, and arguments with spaces arrive', async () => {
    const databaseUrl = await copyWorld()
    const { run } = startWrapper(`DATABASE_URL=${databaseUrl}\nOPERATOR=file\n`)
    const add = (slug: string) => ['category', 'add', '--slug', slug, '--name', `The ${slug} B`]
    const callers: [expected: string, variables: Record<string, string>][] = [
      ['ada', { SUDO_USER: 'ada', OPERATOR: 'Bo' }],
      ['Bo', { OPERATOR: 'Bo' }],
      ['root', {}],
    ]
    for (const [index, [name, variables]] of callers.entries()) {
      expect(run(add(`c${index}`), variables)).toMatchObject({
        status: 0,
        stdout: expect.stringContaining(`The c${index} B (c${index})`),
        stderr: '',
      })
      const { stdout } = run(['audit', '--limit', '1', '--json'])
      expect(JSON.parse(stdout)[0].operator_name).toBe(name)
    }
  })

  test('prints commands as they are typed: after sudo, or by root itself', () => {
    const { run, file } = startWrapper('DATABASE_URL=sqlite:/missing/live.sqlite\n')
    const callers: [printed: string, variables: Record<string, string>][] = [
      ['sudo apps-service', { SUDO_USER: 'ada', SUDO_COMMAND: `${file} status` }],
      ['sudo apps-service', { SUDO_USER: 'ada', SUDO_COMMAND: file }],
      ['apps-service', { SUDO_USER: 'ada', SUDO_COMMAND: '/bin/bash' }],
      ['apps-service', { SUDO_USER: 'ada', SUDO_COMMAND: `${file}-2 status` }],
      ['apps-service', {}],
      ['apps-service', { APPS_SERVICE_COMMAND: 'other' }],
    ]
    for (const [printed, variables] of callers) {
      expect(run(['status'], variables).stderr).toContain(
        ` does not exist; ${printed} migrate creates `,
      )
    }
  })

  test('a variable of the caller wins over the settings, as the upgrade needs it', async () => {
    const { run } = startWrapper('DATABASE_URL=sqlite:/missing/live.sqlite\n')
    expect(run(['category', 'list']).stderr).toContain('/missing/live.sqlite')
    expect(run(['category', 'list'], { DATABASE_URL: await copyWorld() })).toMatchObject({
      status: 0,
      stderr: '',
    })
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
    expect(directory).toBe(readUnit('apps-service-backup.service')('ReadWritePaths'))
    const { run } = startWrapper(`DATABASE_URL=${await copyWorld()}\n`)
    const { stdout } = run(['status'])
    expect(/^Last backup/m.test(stdout)).toBe(existsSync(directory ?? ''))
  })

  test('status reads the settings as the units do', async () => {
    const databaseUrl = await copyWorld()
    const status = (line: string) =>
      startWrapper(`DATABASE_URL=${databaseUrl}\n${line}\n`).run(['status'])
    for (const line of ['#', '# comment', "CONTACT_URL='https://a.example.org/#b'", '#PORT=x'])
      expect([line, status(line)]).toEqual([
        line,
        expect.objectContaining({ status: 0, stderr: '' }),
      ])
    expect(status('BASE_URL=https://a.example.org # comment')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('not "https://a.example.org # comment"'),
    })
    expect(status('export PORT=none')).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/: line 2 is ignored, since it is not NAME=value\n$/),
    })
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

  /** A directory of backups, and what a night adds and deletes there. `stub` replaces programs. */
  async function startNights(names: string[], databaseUrl = '') {
    const folder = temporaryFolder()
    const directory = join(folder, 'a directory with spaces')
    mkdirSync(directory)
    for (const name of [...names, ...others]) writeFileSync(join(directory, name), '')
    for (const name of otherDirectories) mkdirSync(join(directory, name))
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      TZ: process.env.TZ,
      DATABASE_URL: databaseUrl || (await copyWorld()),
    }
    const stub = (program: string, script: string) =>
      writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const list = () => readdirSync(directory).filter((name) => !otherNames.includes(name))
    function backUp(keep: string) {
      const before = list()
      const { status, stderr } = spawnSync(join(deploy, 'backup.sh'), [directory], {
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

  test('says that the directory cannot be entered', () => {
    const directory = join(temporaryFolder(), 'missing')
    expect(runWith(join(deploy, 'backup.sh'), [directory], { KEEP: '1' })).toEqual({
      status: 1,
      stdout: '',
      stderr: `apps-service-backup: cannot enter ${directory}, the directory of the backups; create it for the service's account (docs/running.md, "One server")\n`,
    })
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

/** Seconds of a duration such as 5m. */
const secondsOf = (text: string) =>
  Number.parseInt(text, 10) * ({ s: 1, m: 60, h: 3600 }[text.slice(-1)] ?? Number.NaN)

test('alerts fire beyond these values, in the unit of their metrics, for so many seconds', () => {
  type Rule = { alert: string; expr: string; for?: string }
  const [group]: { rules: Rule[] }[] = parse(
    readFileSync(join(deploy, 'alerts.yml'), 'utf8'),
  ).groups
  const rules = required(group, 'the group').rules.map(({ alert, expr, for: duration = '0s' }) => {
    const [, product = ''] = / > ([\d.* ]+)$/.exec(expr) ?? []
    const threshold = product.split('*').reduce((total, factor) => total * Number(factor), 1)
    return [alert, product === '' ? 'absent' : threshold, secondsOf(duration)]
  })
  expect(rules).toEqual([
    ['AppsWaitTooLong', 259_200, 0],
    ['AppsServiceNotScraped', 'absent', 300],
    ['AppsServiceErrors', 0.1, 300],
    ['AppsServiceBlocked', 0.2, 300],
    ['AppsDatabaseOverloaded', 0, 300],
  ])
})

test('the archive has what its documents send an operator to', () => {
  const [, shipped = ''] =
    /^const shipped = \[([^\]]+)\]/m.exec(readFileSync(join(root, 'scripts/package.ts'), 'utf8')) ??
    []
  const names = [...shipped.matchAll(/'([^']+)'/g)].map(([, name]) => name)
  expect(names.toSorted()).toEqual([
    ...['CHANGELOG.md', 'LICENSE', 'README.md', 'apps-service', 'deploy', 'docs', 'generated'],
    ...['openapi/life-cycle.arazzo.yaml', 'seeds', 'src'],
  ])
})
