/** A parsed DATABASE_URL of PostgreSQL. */
export type ServerUrl = {
  /** For messages: without user, password and options. */
  name: string
  /** For the driver. */
  connectionString: string
  /** Milliseconds to wait for a connection to open or to become free. */
  connectTimeout: number
}

/** Milliseconds. In a URL it is in seconds, as in libpq's. */
const defaultConnectTimeout = 5000

/** The driver's, by those of libpq (https://www.postgresql.org/docs/current/libpq-ssl.html), of which some accept any certificate. */
const sslModes: Record<string, string> = {
  disable: 'disable',
  prefer: 'verify-full',
  require: 'verify-full',
  'verify-ca': 'verify-full',
  'verify-full': 'verify-full',
  'no-verify': 'no-verify',
}

export function parseServerUrl(text: string): ServerUrl | undefined {
  const url = /^postgres(?:ql)?:\/\//.test(text) ? URL.parse(text) : null
  // Without a database name the driver uses the user's name.
  if (!url || !/^\/[^/]+$/.test(url.pathname)) return undefined
  const mode = sslModes[url.searchParams.get('sslmode') ?? 'disable']
  if (mode === undefined) return undefined
  const connectTimeout = url.searchParams.get('connect_timeout') ?? String(defaultConnectTimeout / 1000)
  if (!/^[1-9]\d{0,3}$/.test(connectTimeout)) return undefined
  const name = displayName(url)
  url.searchParams.set('sslmode', mode)
  url.searchParams.delete('connect_timeout')
  return { name, connectionString: url.href, connectTimeout: Number(connectTimeout) * 1000 }
}

/** The directory of a Unix socket is in the query. */
function displayName({ host, pathname, searchParams }: URL): string {
  return `postgres://${host || (searchParams.get('host') ?? '')}${pathname}`
}
