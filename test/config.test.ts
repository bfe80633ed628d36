import { expect, test } from 'vitest'
import { type Config, readConfig } from '../src/config.ts'
import { OperatorError } from '../src/contract/errors.ts'

const defaults: Config = {
  host: '127.0.0.1',
  port: 3000,
  baseUrl: 'http://localhost:3000',
  prefix: '',
  moderation: { port: 3001, baseUrl: 'http://localhost:3001', prefix: '' },
  databaseUrl: 'sqlite:data/apps.sqlite',
  databaseOptions: { pool: 12 },
  logLevel: 'info',
  cacheSize: 64 * 1024 * 1024,
  trustProxy: 0,
  writeLimit: 6000,
  refusedKeyLimit: 600,
  readLimit: 0,
  metricsPort: 0,
  contact: {},
  operator: '',
}

test.for<[what: string, environment: NodeJS.ProcessEnv, config: Partial<Config>]>([
  ['nothing set', {}, {}],
  ['empty variables', { PORT: '', HOST: '' }, {}],
  [
    'a port, which is also in the base URL',
    { PORT: '8080' },
    { port: 8080, baseUrl: 'http://localhost:8080' },
  ],
  ['the highest port', { PORT: '65535' }, { port: 65_535, baseUrl: 'http://localhost:65535' }],
  ['any free port', { PORT: '0' }, { port: 0, baseUrl: 'http://localhost:0' }],
  [
    'a base address with a prefix',
    { BASE_URL: 'https://apps.example.org/store/v1/' },
    { baseUrl: 'https://apps.example.org/store/v1', prefix: '/store/v1' },
  ],
  [
    'a base address without a path',
    { BASE_URL: 'https://apps.example.org' },
    { baseUrl: 'https://apps.example.org', prefix: '' },
  ],
  [
    'a port of the moderation page, which is also in its URL',
    { PORT: '8080', MODERATION_PORT: '8081' },
    {
      port: 8080,
      baseUrl: 'http://localhost:8080',
      moderation: { port: 8081, baseUrl: 'http://localhost:8081', prefix: '' },
    },
  ],
  [
    'an address of the moderation page',
    { BASE_URL: 'https://apps.example.org/api', MODERATION_URL: 'https://staff.example.org/mod/' },
    {
      baseUrl: 'https://apps.example.org/api',
      prefix: '/api',
      moderation: { port: 3001, baseUrl: 'https://staff.example.org/mod', prefix: '/mod' },
    },
  ],
  [
    'a path of a database',
    { DATABASE_URL: 'sqlite:/var/lib/apps.sqlite' },
    { databaseUrl: 'sqlite:/var/lib/apps.sqlite' },
  ],
  [
    'a database on a server',
    { DATABASE_URL: 'postgres://apps@db/apps', DATABASE_POOL: '40' },
    { databaseUrl: 'postgres://apps@db/apps', databaseOptions: { pool: 40 } },
  ],
  ['a port for metrics', { METRICS_PORT: '9464' }, { metricsPort: 9464 }],
  [
    'a page with the operators’ contact',
    { CONTACT_URL: 'https://apps.example.org/keys' },
    { contact: { url: 'https://apps.example.org/keys' } },
  ],
  [
    'an address of the operators',
    { CONTACT_URL: 'keys@apps.example.org' },
    { contact: { email: 'keys@apps.example.org' } },
  ],
  [
    'an e-mail address as a link to ask for keys',
    { CONTACT_URL: 'mailto:keys@apps.example.org' },
    { contact: { email: 'keys@apps.example.org' } },
  ],
  ['a proxy', { TRUST_PROXY: '1' }, { trustProxy: 1 }],
  [
    'networks of proxies',
    { TRUST_PROXY: '10.0.0.0/8, fd00::/8,192.0.2.7,loopback' },
    { trustProxy: ['10.0.0.0/8', 'fd00::/8', '192.0.2.7', 'loopback'] },
  ],
  [
    'limits',
    { WRITE_LIMIT: '0', REFUSED_KEY_LIMIT: '10', READ_LIMIT: '999999999' },
    { writeLimit: 0, refusedKeyLimit: 10, readLimit: 999_999_999 },
  ],
  [
    'the name of the person who runs commands',
    { OPERATOR: ' Jörg Müller ' },
    { operator: 'Jörg Müller' },
  ],
  ['an operator of white space', { OPERATOR: ' ' }, { operator: '' }],
  [
    'a relative path of a database',
    { DATABASE_URL: 'sqlite:./a b.sqlite' },
    { databaseUrl: 'sqlite:./a b.sqlite' },
  ],
])('%s', ([, environment, config]) => {
  expect(readConfig(environment)).toEqual({ ...defaults, ...config })
})

/** Each row has one variable that is wrong, the last one; the message says what it must be. */
test.for<NodeJS.ProcessEnv>([
  { PORT: '-1' },
  { PORT: '65536' },
  { PORT: '0x10' },
  { HOST: 'a b' },
  { BASE_URL: 'localhost' },
  { BASE_URL: 'http://x/?a=1' },
  { BASE_URL: 'http://user:pass@x/' },
  { BASE_URL: 'http://x/a:b(c)' },
  { CONTACT_URL: 'javascript:alert(1)' },
  { CONTACT_URL: 'ask Ada' },
  { CONTACT_URL: 'mailto:keys@apps.example.org?subject=Key' },
  { MODERATION_PORT: '65536' },
  { MODERATION_URL: 'https://x/?a=1' },
  { MODERATION_URL: 'https://ada:secret@x/' },
  { DATABASE_URL: 'mysql://x/y' },
  { DATABASE_URL: 'postgres://x/y?sslmode=maybe' },
  { DATABASE_URL: 'sqlite://data/x.db' },
  { DATABASE_URL: 'sqlite:data/x.db?mode=ro' },
  { DATABASE_URL: 'SQLite:///var/lib/x.db' },
  { DATABASE_URL: '/var/lib/apps.sqlite' },
  { DATABASE_URL: 'sqlite:' },
  { DATABASE_URL: 'sqlite::memory:' },
  { DATABASE_POOL: '3' },
  { LOG_LEVEL: 'INFO' },
  { TRUST_PROXY: 'true' },
  { TRUST_PROXY: '*' },
  { TRUST_PROXY: 'all' },
  { TRUST_PROXY: '10' },
  { TRUST_PROXY: '-1' },
  { TRUST_PROXY: '0.0.0.0/0' },
  { TRUST_PROXY: '10.0.0.0/8,::/0' },
  { TRUST_PROXY: 'proxy.example.org' },
  { TRUST_PROXY: '10.0.0.0/8,' },
  { TRUST_PROXY: '10.0.0.0/33' },
  { TRUST_PROXY: 'fd00::/129' },
  { TRUST_PROXY: '10.0.0.0/8/8' },
  { TRUST_PROXY: '10.0.0.0/' },
  { METRICS_PORT: '3000' },
  { METRICS_PORT: 'on' },
  { PORT: '80', METRICS_PORT: '080' },
  { WRITE_LIMIT: '-1' },
  { REFUSED_KEY_LIMIT: '1.5' },
  { READ_LIMIT: '1000000000' },
  { OPERATOR: 'x'.repeat(101) },
  { OPERATOR: 'Ada\u001b[2J' },
  { OPERATOR: 'Ada\nroot' },
  { OPERATOR: '\u200b' },
  { OPERATOR: 'J\uFFFDrg' },
])('refuses %j', (environment) => {
  expect(() => readConfig(environment)).toThrow(OperatorError)
  const name = Object.keys(environment).at(-1)
  expect(() => readConfig(environment)).toThrow(new RegExp(`^[^;]*\\b${name} must [^;]*$`))
})

test.for<{ environment: NodeJS.ProcessEnv; message: RegExp }>([
  {
    environment: { PORT: '-1' },
    message: /PORT must be a whole number from 0 to 65535, not "-1"$/,
  },
  {
    environment: { METRICS_PORT: '3000' },
    message: /METRICS_PORT must be a whole number from 0 to 65535 and different from PORT/,
  },
  {
    environment: { DATABASE_URL: 'mysql://x/y' },
    message: /DATABASE_URL must be sqlite:PATH.* postgres:\/\/USER/,
  },
  { environment: { OPERATOR: 'x'.repeat(101) }, message: /1 to 100 characters.*, not "xxx/ },
])('says what is right instead of $environment, and what it is', ({ environment, message }) => {
  expect(() => readConfig(environment)).toThrow(message)
})

test('reports all that is wrong together', () => {
  const environment = { PORT: 'x', LOG_LEVEL: 'loud', BASE_URL: 'ftp://x' }
  expect(() => readConfig(environment)).toThrow(/PORT .*; BASE_URL .*; LOG_LEVEL /)
})

test('an error about an address does not quote it, because it can contain a password', () => {
  const environment = { DATABASE_URL: 'postgres://a:hush@x' }
  expect(() => readConfig(environment)).toThrow(/DATABASE_URL must/)
  expect(() => readConfig(environment)).not.toThrow(/hush/)
})

test('returns an immutable value', () => {
  expect(Object.isFrozen(readConfig({}))).toBe(true)
})
