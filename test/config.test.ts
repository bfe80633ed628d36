import { expect, test } from 'vitest'
import { type Config, ConfigError, readConfig } from '../src/config.ts'

const defaults: Config = {
  host: '127.0.0.1',
  port: 3000,
  baseUrl: 'http://localhost:3000',
  prefix: '',
  databaseUrl: 'sqlite:data/apps.sqlite',
  logLevel: 'info',
  cacheSize: 64 * 1024 * 1024,
}

test.for<[what: string, environment: NodeJS.ProcessEnv, config: Partial<Config>]>([
  ['nothing set', {}, {}],
  ['empty variables', { PORT: '', HOST: '' }, {}],
  ['a port, which the base address follows', { PORT: '8080' }, { port: 8080, baseUrl: 'http://localhost:8080' }],
  ['the highest port', { PORT: '65535' }, { port: 65_535, baseUrl: 'http://localhost:65535' }],
  ['any port that is free', { PORT: '0' }, { port: 0, baseUrl: 'http://localhost:0' }],
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
    'a path of a database',
    { DATABASE_URL: 'sqlite:/var/lib/apps.sqlite' },
    { databaseUrl: 'sqlite:/var/lib/apps.sqlite' },
  ],
  ['a relative path of a database', { DATABASE_URL: 'sqlite:./a b.sqlite' }, { databaseUrl: 'sqlite:./a b.sqlite' }],
])('%s', ([, environment, config]) => {
  expect(readConfig(environment)).toEqual({ ...defaults, ...config })
})

test.for<[environment: NodeJS.ProcessEnv, complaint: RegExp]>([
  [{ PORT: '-1' }, /PORT must be a whole number from 0 to 65535, not "-1"/],
  [{ PORT: '65536' }, /PORT/],
  [{ PORT: '0x10' }, /PORT/],
  [{ HOST: 'a b' }, /HOST/],
  [{ BASE_URL: 'localhost' }, /BASE_URL/],
  [{ BASE_URL: 'http://x/?a=1' }, /BASE_URL/],
  [{ BASE_URL: 'http://user:pass@x/' }, /BASE_URL/],
  [{ BASE_URL: 'http://x/a:b(c)' }, /BASE_URL/],
  [{ DATABASE_URL: 'postgres://x/y' }, /postgres:\/\/ is not supported yet/],
  [{ DATABASE_URL: 'sqlite:' }, /DATABASE_URL/],
  [{ DATABASE_URL: 'sqlite::memory:' }, /DATABASE_URL/],
  [{ LOG_LEVEL: 'INFO' }, /LOG_LEVEL/],
])('%j is refused', ([environment, complaint]) => {
  expect(() => readConfig(environment)).toThrow(ConfigError)
  expect(() => readConfig(environment)).toThrow(complaint)
})

test('what it returns cannot be changed', () => {
  expect(Object.isFrozen(readConfig({}))).toBe(true)
})
