import { resolve } from 'node:path'

/** Parses DATABASE_URL of either engine. */

/** A parsed DATABASE_URL of PostgreSQL. */
export type ServerUrl = {
  /** For messages: without user, password and options. */
  name: string
  /** For the driver. */
  connectionString: string
  /** Milliseconds to wait for a connection to open or to become free. */
  connectTimeout: number
}

export const isDatabaseUrl = (text: string): boolean =>
  (parseFileUrl(text) ?? parseServerUrl(text)) !== undefined

/** The formats of DATABASE_URL, in words. */
export const databaseUrlFormats =
  'sqlite:PATH, the path of a file, or postgres://USER:PASSWORD@HOST:PORT/DATABASE'

/**
 * The absolute path of a SQLite database, so that messages name the file whatever the working
 * directory is. Refuses `sqlite://data/apps.sqlite`, where `data` would be a host, and parameters
 * such as `?mode=ro`.
 */
export function parseFileUrl(text: string): string | undefined {
  const path = text.match(/^sqlite:(?:\/\/(?=\/)|(?!\/\/))(?<path>.+)$/)?.groups?.path
  const isFile = path !== undefined && path !== ':memory:' && !/\?\w+=/.test(path)
  return isFile ? resolve(path) : undefined
}

/** Milliseconds. In a URL it is in seconds, as in libpq's. */
const defaultConnectTimeout = 5000

/**
 * As libpq names them (https://www.postgresql.org/docs/current/libpq-ssl.html); `no-verify` is the
 * driver's own.
 */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

export function parseServerUrl(text: string): ServerUrl | undefined {
  const url = /^postgres(?:ql)?:\/\//.test(text) ? URL.parse(text) : null
  // Without a database name the driver uses the user's name.
  if (!url || !/^\/[^/]+$/.test(url.pathname)) return undefined
  // The driver would open a file of this name. Without `sslrootcert` it uses the CAs that Node
  // trusts.
  const usesSystemCas = url.searchParams.get('sslrootcert') === 'system'
  if (usesSystemCas) url.searchParams.delete('sslrootcert')
  const mode = url.searchParams.get('sslmode') ?? (usesSystemCas ? 'verify-full' : 'disable')
  // libpq, too, refuses weaker modes with the system's CAs.
  if (!sslModes.includes(mode) || (usesSystemCas && mode !== 'verify-full')) return undefined
  const connectTimeout =
    url.searchParams.get('connect_timeout') ?? String(defaultConnectTimeout / 1000)
  if (!/^[1-9]\d{0,3}$/.test(connectTimeout)) return undefined
  const name = displayName(url)
  // libpq's `require` would accept any certificate, even an attacker's.
  if (mode !== 'no-verify')
    url.searchParams.set('sslmode', mode === 'disable' ? mode : 'verify-full')
  url.searchParams.delete('connect_timeout')
  return { name, connectionString: url.href, connectTimeout: Number(connectTimeout) * 1000 }
}

/** The directory of a Unix socket is in the query. */
function displayName({ host, pathname, searchParams }: URL): string {
  return `postgres://${host || (searchParams.get('host') ?? '')}${pathname}`
}
