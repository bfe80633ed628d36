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
