import { hash } from 'node:crypto'
import type { Caller, NewApp } from '../contract/contract.ts'
import { ServiceError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { AppRow } from '../db/rows.ts'
import { required } from '../util/helpers.ts'

/** Milliseconds for which a key is stored. */
export const lifetime = 24 * 60 * 60 * 1000

/** Expired keys deleted by each create. A create adds at most one, so they do not accumulate. */
const cleanupBatchSize = 100

type CreatedApp = Pick<AppRow, 'id' | 'slug'>

/** A create request after validation. */
export type CreateRequest = { caller: Caller; body: NewApp }

/**
 * Creates an app, or returns the one that this developer's key and body created within the last 24
 * hours. Runs in the create's transaction. Concurrent creates with the same key wait for the first;
 * after the lock timeout they throw `unavailable`. Also throws `idempotency_key_reused`, and what
 * `create` throws.
 */
export async function createOnce(
  { sql }: QueryRunner,
  { caller, body }: CreateRequest,
  idempotencyKey: string,
  create: () => Promise<CreatedApp>,
): Promise<CreatedApp> {
  const table = () => sql('idempotency_keys')
  const developerKey = { developer_id: caller.developerId, key: parseKey(idempotencyKey) }
  const body_hash = hashOf(body)
  const now = Date.now()
  const expired = new Date(now - lifetime).toISOString()
  // Overwrites an expired row. An unexpired row stays and is locked, so nobody can delete it before
  // it is read.
  const inserted = await table()
    .insert({ ...developerKey, body_hash, app_id: null, created_at: new Date(now).toISOString() })
    .onConflict(['developer_id', 'key'])
    .merge()
    .where('idempotency_keys.created_at', '<=', expired)
    .returning('id')
  if (inserted.length === 0) {
    const stored = required(await table().where(developerKey).first(), 'the stored key')
    assertSameBody(stored.body_hash, body_hash)
    // The app may be deleted or transferred by now; its slug never changes.
    const id = required(stored.app_id, "the stored key's app")
    return required(await sql('apps').where({ id }).first('id', 'slug'), `app ${id}`)
  }
  const app = await create()
  await table().where(developerKey).update({ app_id: app.id })
  const stale = table()
    .where('created_at', '<=', expired)
    .orderBy('created_at')
    .limit(cleanupBatchSize)
    .select('id')
  // Concurrent creates may delete the same rows; skip those.
  await table().whereIn('id', stale.forUpdate().skipLocked()).delete()
  return app
}

/**
 * Throws if the bodies differ. Hashes of different formats are not compared; then the key alone
 * counts.
 */
function assertSameBody(stored: string, sent: string) {
  if (stored === sent || !stored.startsWith(hashFormat)) return
  throw new ServiceError(
    'idempotency_key_reused',
    'This Idempotency-Key was used with another body; choose a new key for each app.',
    { errors: [{ in: 'header', field: 'Idempotency-Key', message: 'was used with another body' }] },
  )
}

/**
 * Removes the quotes and escapes of a quoted string (RFC 9651, section 3.3.3). The header has been
 * validated.
 */
const parseKey = (header: string) =>
  header.startsWith('"') ? header.slice(1, -1).replaceAll(/\\(.)/g, '$1') : header

/** Version of the hash. Increase it when `hashOf` or the default of a field changes. */
const hashFormat = '1:'

/** Does not depend on the order of the fields. */
function hashOf(body: NewApp): string {
  const fields = Object.entries(body).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return hashFormat + hash('sha256', JSON.stringify(fields), 'base64url')
}
