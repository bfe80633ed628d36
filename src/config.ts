import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { OperatorError } from './contract/errors.ts'
import { parsePersonName, personNameFormat } from './contract/field-rules.ts'
import { databaseUrlFormats, isDatabaseUrl } from './db/database-url.ts'
import { defaultPoolSize } from './db/engine.ts'
import { required } from './util/helpers.ts'

export type Config = Readonly<{
  host: string
  port: number
  /** Without a slash at the end. */
  baseUrl: string
  /** The path of `baseUrl`, such as `/api`, or empty. */
  prefix: string
  /** May hold a password. */
  databaseUrl: string
  databaseOptions: { pool: number }
  moderation: { port: number; baseUrl: string; prefix: string }
  logLevel: string
  /** Maximum size of the response cache in bytes; 0 for no cache. */
  cacheSize: number
  /** The number of proxies in front of the server, or their networks. */
  trustProxy: number | string[]
  /** Per minute and developer; 0 for no limit. */
  writeLimit: number
  /** Per minute and client address, like `readLimit`; 0 for no limit. */
  refusedKeyLimit: number
  readLimit: number
  /** Port of the Prometheus metrics; 0 for none. */
  metricsPort: number
  /** The address for requests of a key, as an OpenAPI contact. */
  contact: { url?: string; email?: string }
  /** Name of the person who runs commands, for the audit log; empty if not set. */
  operator: string
}>

/**
 * Reads the environment variables; an empty one counts as not set. Throws an OperatorError that
 * reports all errors together.
 */
export function readConfig(environment = process.env): Config {
  const problems: string[] = []

  /** Reports an invalid value, and uses the default instead so that the rest can be checked. */
  function read<T>(
    name: string,
    fallback: string,
    parse: (text: string) => T | undefined,
    expected: string,
  ): T {
    const text = environment[name] || fallback
    const value = parse(text)
    if (value !== undefined) return value
    // A database URL may hold a password.
    const shown = name === 'DATABASE_URL' ? '' : `, not ${JSON.stringify(text)}`
    problems.push(`${name} must be ${expected}${shown}`)
    return required(parse(fallback), `a valid default of ${name}`)
  }
  const readNumber = (name: string, fallback: string, unit: string, max: number, min = 0) =>
    read(name, fallback, wholeNumber(max, min), `a whole number${unit} from ${min} to ${max}`)
  const readLimit = (name: string, fallback: string) =>
    readNumber(name, fallback, ' of requests a minute', 999_999_999)

  const port = readNumber('PORT', '3000', '', maxPort)
  const moderationPort = readNumber('MODERATION_PORT', '3001', '', maxPort)
  const config = {
    host: read('HOST', '127.0.0.1', (text) => /^\S+$/.exec(text)?.[0], 'a host name or address'),
    port,
    ...read('BASE_URL', `http://localhost:${port}`, parseBaseUrl, baseUrlFormat),
    databaseUrl: read(
      'DATABASE_URL',
      defaultDatabaseUrl,
      (text) => (isDatabaseUrl(text) ? text : undefined),
      databaseUrlFormats,
    ),
    databaseOptions: {
      pool: readNumber('DATABASE_POOL', String(defaultPoolSize), ' of connections', 9999, 4),
    },
    moderation: {
      port: moderationPort,
      ...read('MODERATION_URL', `http://localhost:${moderationPort}`, parseBaseUrl, baseUrlFormat),
    },
    logLevel: read(
      'LOG_LEVEL',
      'info',
      (text) => logLevels.find((level) => level === text),
      `one of ${logLevels.join(', ')}`,
    ),
    cacheSize: 2 ** 20 * readNumber('CACHE_SIZE', '64', ' of mebibytes', 99_999),
    trustProxy: read(
      'TRUST_PROXY',
      '0',
      parseTrustProxy,
      'the number of proxies in front of the server, 0 to 9, or their networks, such as 10.0.0.0/8,fd00::/8, but not /0',
    ),
    writeLimit: readLimit('WRITE_LIMIT', '6000'),
    refusedKeyLimit: readLimit('REFUSED_KEY_LIMIT', '600'),
    readLimit: readLimit('READ_LIMIT', '0'),
    metricsPort: read(
      'METRICS_PORT',
      '0',
      (text) => (Number(text) === port && port !== 0 ? undefined : wholeNumber(maxPort)(text)),
      `a whole number from 0 to ${maxPort} and different from PORT`,
    ),
    contact: read('CONTACT_URL', '', parseContact, contactFormat),
    operator: read(
      'OPERATOR',
      '',
      (text) => (text.trim() === '' ? '' : parsePersonName(text)),
      personNameFormat,
    ),
  }
  if (problems.length > 0) throw new OperatorError(`bad environment: ${problems.join('; ')}`)
  return Object.freeze(config)
}

export const baseUrlFormat =
  'an http or https URL without query and fragment, and with a path of letters, digits, ".", "_", "~" and "-"'

const defaultDatabaseUrl = 'sqlite:data/apps.sqlite'

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

const maxPort = 65_535

/** Returns a parser, whose result is undefined for any other text. */
const wholeNumber =
  (max: number, min = 0) =>
  (text: string) =>
    /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined

/** Returns the number of proxies before the server, or their networks. */
function parseTrustProxy(text: string): number | string[] | undefined {
  if (/^\d$/.test(text)) return Number(text)
  const networks = text.split(',').map((network) => network.trim())
  return networks.every(isNetwork) ? networks : undefined
}

/** The names that Express has for networks (https://expressjs.com/en/guide/behind-proxies.html). */
const namedNetworks = ['loopback', 'linklocal', 'uniquelocal']

/** Refuses /0, the network of all addresses, from which anybody could forge a client's address. */
function isNetwork(text: string): boolean {
  const [, address = text, length] = /^([^/]*)\/([1-9]\d{0,2})$/.exec(text) ?? []
  const bits = { 4: 32, 6: 128 }[isIP(address)]
  if (bits === undefined) return namedNetworks.includes(text)
  return length === undefined || Number(length) <= bits
}

export const contactFormat = 'an http or https address, or an e-mail address'

/** Blank text means no contact. */
export function parseContact(text: string): Config['contact'] | undefined {
  if (text.trim() === '') return {}
  const email = /^(?:mailto:)?([^\s@/:?%]+@[^\s@/:?%]+)$/i.exec(text)?.[1]
  if (email !== undefined) return { email }
  const url = URL.parse(text)
  return url && ['http:', 'https:'].includes(url.protocol) && !url.username
    ? { url: url.href }
    : undefined
}

/**
 * `baseUrl` has no slash at the end. `prefix` is its path, such as `/api`, or empty. All routes
 * except the health checks begin with it.
 */
export function parseBaseUrl(text: string): Pick<Config, 'baseUrl' | 'prefix'> | undefined {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash || url.username)
    return undefined
  const prefix = url.pathname.replace(/\/$/, '')
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(prefix)) return undefined
  return { baseUrl: url.origin + prefix, prefix }
}

/**
 * Says where DATABASE_URL is set, for errors about the database: commands that run in different
 * directories may use different databases.
 */
export function describeDatabaseUrl(): string {
  const url = process.env.DATABASE_URL
  const inWorkingDirectory = `relative to the working directory ${process.cwd()}`
  if (!url)
    return `DATABASE_URL is not set; its default is ${defaultDatabaseUrl}, ${inWorkingDirectory}`
  const isInFile =
    existsSync(envFile) &&
    parseEnv(new TextDecoder().decode(readFileSync(envFile))).DATABASE_URL === url
  return `DATABASE_URL is set in ${isInFile ? resolve(envFile) : 'the environment'}`
}

/** The file with settings, in the working directory. cli/program.ts loads it. */
export const envFile = '.env'
