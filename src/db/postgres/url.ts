import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'

/** What a DATABASE_URL of PostgreSQL says. */
export type ServerUrl = {
  /** As messages name it: without a user, a password and options. */
  name: string
  /** For the driver: without what is decided here. */
  connectionString: string
  ssl: ConnectionOptions | false
  /** Milliseconds that a connection may take to be made, or to come free. */
  connectTimeout: number
}

/** Milliseconds, where the address does not say it in seconds, as libpq's does. */
const defaultConnectTimeout = 5000

/** As libpq names them (https://www.postgresql.org/docs/current/libpq-ssl.html); `no-verify` is the driver's own. */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

export function parseServerUrl(text: string): ServerUrl | undefined {
  const url = /^postgres(?:ql)?:\/\//.test(text) ? URL.parse(text) : null
  // Without a database's name the driver takes the user's.
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

/** A certificate is verified unless the address says otherwise: libpq's `require` takes any, and so whoever stands between. */
function sslOptions(mode: string, ca: string | null): ServerUrl['ssl'] {
  if (mode === 'disable') return false
  return {
    rejectUnauthorized: mode !== 'no-verify',
    // Read when it is used: the address may be looked at where the file is not.
    ...(ca !== null && {
      get ca() {
        return readFileSync(ca)
      },
    }),
  }
}

/** A socket's folder stands in the query. */
function displayName({ host, pathname, searchParams }: URL): string {
  return `postgres://${host || (searchParams.get('host') ?? '')}${pathname}`
}
