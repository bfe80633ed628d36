import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import proxyaddr from 'proxy-addr'
import { operatorNameFormat, parseOperatorName } from './contract/field-rules.ts'
import { expectedUrl, isDatabaseUrl } from './db/database-url.ts'
import { defaultPoolSize, type ServerOptions } from './db/engine.ts'
import { similarWords } from './search/typos.ts'
import { required } from './util/helpers.ts'

export type Config = Readonly<{
  host: string
  port: number
  /** Public URL, without a slash at the end. */
  baseUrl: string
  /**
   * Path of `baseUrl`, which all routes but the health checks start with: empty, or begins with
   * `/`.
   */
  prefix: string
  /** May hold a password. */
  databaseUrl: string
  databaseOptions: ServerOptions
  logLevel: string
  /** Maximum size of the response cache in bytes; 0 for no cache. */
  cacheSize: number
  /**
   * The number of proxies before the server, or their networks, whose `X-Forwarded-For` is trusted.
   */
  trustProxy: number | readonly string[]
  /**
   * Requests a minute, 0 for no limit: writes per developer, refused keys and reads per address.
   */
  writeLimit: number
  refusedKeyLimit: number
  readLimit: number
  /** Port of the Prometheus metrics; 0 for none. */
  metricsPort: number
  /** Where to request a key, as an OpenAPI contact. */
  contact: { url?: string; email?: string }
  /** Name of the person who runs commands, for the audit log; empty if not set. */
  operator: string
}>

/** Its message names every bad variable on one line. */
export class ConfigError extends Error {}

const variables = [
  'HOST',
  'PORT',
  'BASE_URL',
  'DATABASE_URL',
  'DATABASE_POOL',
  'CONTACT_URL',
  'LOG_LEVEL',
  'CACHE_SIZE',
  'WRITE_LIMIT',
  'REFUSED_KEY_LIMIT',
  'READ_LIMIT',
  'METRICS_PORT',
  'TRUST_PROXY',
  'OPERATOR',
] as const
type Variable = (typeof variables)[number]

/** A warning for each variable that is not read but resembles one that is not set. */
export function misspelledVariables(environment: NodeJS.ProcessEnv): string[] {
  const normalize = (name: string) => name.toLowerCase().replaceAll('_', '')
  const others = Object.keys(environment).filter(
    (name) => !variables.some((variable) => variable === name),
  )
  return variables.flatMap((variable) => {
    if (environment[variable] !== undefined) return []
    const name = normalize(variable)
    const spellings = new Set([name, ...similarWords(name)])
    return others
      .filter((other) => spellings.has(normalize(other)))
      .map((other) => `${other} is not read; use ${variable}`)
  })
}

const defaultDatabaseUrl = 'sqlite:data/apps.sqlite'

/**
 * Describes the source of DATABASE_URL, for messages: commands in different directories may read
 * different ones.
 */
export function describeDatabaseUrl(environment: NodeJS.ProcessEnv): string {
  const url = environment.DATABASE_URL
  const inWorkingDirectory = `relative to the working directory ${process.cwd()}`
  if (!url)
    return `DATABASE_URL is not set; its default is ${defaultDatabaseUrl}, ${inWorkingDirectory}`
  const isInFile =
    existsSync(envFile) && parseEnv(readFileSync(envFile, 'utf8')).DATABASE_URL === url
  return `DATABASE_URL is set in ${isInFile ? resolve(envFile) : 'the environment'}`
}

/** In the working directory. */
export const envFile = '.env'

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/**
 * Reads the environment variables; an empty one counts as not set. Throws a ConfigError that
 * reports all errors together.
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const problems: string[] = []
  /** An invalid value is reported, and replaced by the default so that the rest can be checked. */
  function readVariable<T>(
    name: Variable,
    fallback: string,
    parse: (text: string) => T | undefined,
    expected: string | ((text: string) => string),
  ): T {
    const text = environment[name] || fallback
    const value = parse(text)
    if (value !== undefined) return value
    // A database URL may hold a password.
    const shown = name === 'DATABASE_URL' ? '' : `, not ${JSON.stringify(text)}`
    problems.push(
      `${name} must be ${typeof expected === 'string' ? expected : expected(text)}${shown}`,
    )
    return required(parse(fallback), `a valid default of ${name}`)
  }
  const readText = (
    name: Variable,
    fallback: string,
    isValid: (text: string) => boolean,
    expected: string | ((text: string) => string),
  ) => readVariable(name, fallback, (text) => (isValid(text) ? text : undefined), expected)
  const readNumber = (name: Variable, fallback: string, unit: string, max: number, min = 0) =>
    readVariable(
      name,
      fallback,
      wholeNumber(max, min),
      `a whole number${unit} from ${min} to ${max}`,
    )
  const readLimit = (name: Variable, fallback: string) =>
    readNumber(name, fallback, ' of requests a minute', 999_999_999)

  const port = readNumber('PORT', '3000', '', maxPort)
  const config: Config = {
    host: readText('HOST', '127.0.0.1', (text) => !/\s/.test(text), 'a host name or address'),
    port,
    ...readVariable(
      'BASE_URL',
      `http://localhost:${port}`,
      parseBaseUrl,
      'an http or https URL without query and fragment, and with a path of letters, digits, ".", "_", "~" and "-"',
    ),
    databaseUrl: readText('DATABASE_URL', defaultDatabaseUrl, isDatabaseUrl, expectedUrl),
    databaseOptions: {
      pool: readNumber('DATABASE_POOL', String(defaultPoolSize), ' of connections', 9999, 4),
    },
    logLevel: readText(
      'LOG_LEVEL',
      'info',
      (text) => logLevels.includes(text),
      `one of ${logLevels.join(', ')}`,
    ),
    cacheSize: 2 ** 20 * readNumber('CACHE_SIZE', '64', ' of mebibytes', 99_999),
    trustProxy: readVariable(
      'TRUST_PROXY',
      '0',
      parseTrustProxy,
      'the number of proxies in front of the server, 0 to 9, or their networks, such as 10.0.0.0/8,fd00::/8, but not /0',
    ),
    writeLimit: readLimit('WRITE_LIMIT', '6000'),
    refusedKeyLimit: readLimit('REFUSED_KEY_LIMIT', '600'),
    readLimit: readLimit('READ_LIMIT', '0'),
    metricsPort: readVariable(
      'METRICS_PORT',
      '0',
      (text) => (Number(text) === port && port !== 0 ? undefined : wholeNumber(maxPort)(text)),
      `a whole number from 0 to ${maxPort} and different from PORT`,
    ),
    contact: readVariable(
      'CONTACT_URL',
      '',
      parseContact,
      'an http or https address, or an e-mail address',
    ),
    operator: readVariable(
      'OPERATOR',
      '',
      (text) => (text.trim() === '' ? '' : parseOperatorName(text)),
      operatorNameFormat,
    ),
  }
  if (problems.length > 0) throw new ConfigError(`bad environment: ${problems.join('; ')}`)
  return Object.freeze(config)
}

const maxPort = 65_535

const wholeNumber =
  (max: number, min = 0) =>
  (text: string) =>
    /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined

/** proxy-addr would accept a number as an address. It refuses a network of all addresses, /0. */
function parseTrustProxy(text: string): number | string[] | undefined {
  if (/^\d$/.test(text)) return Number(text)
  const networks = text.split(',').map((network) => network.trim())
  if (networks.some((network) => /^\d*$/.test(network))) return undefined
  try {
    proxyaddr.compile(networks)
    return networks
  } catch {
    return undefined
  }
}

/** Only white space means no contact. */
function parseContact(text: string): Config['contact'] | undefined {
  if (text.trim() === '') return {}
  const email = /^(?:mailto:)?([^\s@/:?%]+@[^\s@/:?%]+)$/i.exec(text)?.[1]
  if (email !== undefined) return { email }
  const url = URL.parse(text)
  return url && ['http:', 'https:'].includes(url.protocol) && !url.username
    ? { url: url.href }
    : undefined
}

function parseBaseUrl(text: string) {
  const url = URL.parse(text)
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash || url.username)
    return undefined
  const prefix = url.pathname.replace(/\/$/, '')
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(prefix)) return undefined
  return { baseUrl: url.origin + prefix, prefix }
}
