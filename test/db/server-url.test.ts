import pg from 'pg'
import { expect, test } from 'vitest'
import { parseServerUrl } from '../../src/db/database-url.ts'

/** TLS options of a PostgreSQL address, as the driver understands them. */

/** With an empty object, the driver verifies the certificate by Node's CAs, and the name. */
const verified = {}

test.for<[query: string, ssl: unknown]>([
  ['', false],
  ['?sslmode=disable', false],
  ['?sslmode=require', verified],
  ['?sslmode=verify-full', verified],
  ['?sslrootcert=system', verified],
  ['?sslmode=verify-full&sslrootcert=system', verified],
  ['?sslmode=no-verify', { rejectUnauthorized: false }],
])('the TLS of postgres://db/apps%s', ([query, ssl]) => {
  const client = new pg.Client(parseServerUrl(`postgres://db/apps${query}`)?.connectionString)
  // The driver's types lack it.
  expect(Reflect.get(client, 'ssl')).toEqual(ssl)
})

test.for(['disable', 'prefer', 'require', 'verify-ca', 'no-verify'])(
  'sslmode=%s with sslrootcert=system is refused, as by libpq',
  (mode) => {
    expect(parseServerUrl(`postgres://db/apps?sslmode=${mode}&sslrootcert=system`)).toBeUndefined()
  },
)

test.for<[query: string, seconds: number | undefined, ssl: unknown]>([
  ['', 5, false],
  ['?connect_timeout=2', 2, false],
  ['?connect_timeout=9999', 9999, false],
  ['?connect_timeout=2&sslmode=require', 2, verified],
  ['?sslmode=no-verify&connect_timeout=2', 2, { rejectUnauthorized: false }],
  ['?sslrootcert=system&connect_timeout=2', 2, verified],
  ['?connect_timeout=0', undefined, undefined],
  ['?connect_timeout=10000', undefined, undefined],
  ['?sslmode=require&connect_timeout=1.5', undefined, undefined],
  ['?connect_timeout=2&sslmode=other', undefined, undefined],
])('postgres://ada:secret@db:6432/apps%s waits %j s for a connection', ([query, seconds, ssl]) => {
  const url = parseServerUrl(`postgres://ada:secret@db:6432/apps${query}`)
  expect(url?.connectTimeout).toBe(seconds && 1000 * seconds)
  if (!url) return
  expect(url.name).toBe('postgres://db:6432/apps')
  const client = new pg.Client(url.connectionString)
  expect([
    client.host,
    client.port,
    client.user,
    client.database,
    Reflect.get(client, 'ssl'),
  ]).toEqual(['db', 6432, 'ada', 'apps', ssl])
})
