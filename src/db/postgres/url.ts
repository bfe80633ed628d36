import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'

/** A parsed DATABASE_URL of PostgreSQL. */
export type ServerUrl = {
  /** For messages: without user, password and options. */
  name: string
  /** For the driver: without the parameters that are parsed here. */
  connectionString: string
  ssl: ConnectionOptions | false
  /** Milliseconds to wait for a connection to open or to become free. */
  connectTimeout: number
}

/** Milliseconds. In a URL it is in seconds, as in libpq's. */
const defaultConnectTimeout = 5000

/** As libpq names them (https://www.postgresql.org/docs/current/libpq-ssl.html); `no-verify` is the driver's own. */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

export function parseServerUrl(text: string): ServerUrl | undefined {
  const url = /^postgres(?:ql)?:\/\//.test(text) ? URL.parse(text) : null
  // Without a database name the driver uses the user's name.
  if (!url || !/^\/[^/]+$/.test(url.pathname)) return undefined
  const mode = url.searchParams.get('sslmode') ?? 'disable'
  if (!sslModes.includes(mode)) return undefined
  const connectTimeout = url.searchParams.get('connect_timeout') ?? String(defaultConnectTimeout / 1000)
  if (!/^[1-9]\d{0,3}$/.test(connectTimeout)) return undefined
  const ca = url.searchParams.get('sslrootcert')
  const bare = new URL(url)
  for (const decided of ['sslmode', 'sslrootcert', 'connect_timeout']) bare.searchParams.delete(decided)
  return {
    name: displayName(url),
    connectionString: bare.href,
    ssl: sslOptions(mode, ca),
    connectTimeout: Number(connectTimeout) * 1000,
  }
}

/** Verifies the certificate unless the URL says `no-verify`; libpq's `require` would accept any, even an attacker's. */
function sslOptions(mode: string, ca: string | null): ServerUrl['ssl'] {
  if (mode === 'disable') return false
  return {
    rejectUnauthorized: mode !== 'no-verify',
    // Read when used, since a URL may be checked on a machine without the file.
    ...(ca !== null && {
      get ca() {
        return readFileSync(ca)
      },
    }),
  }
}

/** The directory of a Unix socket is in the query. */
function displayName({ host, pathname, searchParams }: URL): string {
  return `postgres://${host || (searchParams.get('host') ?? '')}${pathname}`
}
