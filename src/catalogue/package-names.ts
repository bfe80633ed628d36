import type { Actor } from '../audit/audit-store.ts'
import { ServiceError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import { Conflict } from '../db/error-meaning.ts'
import type { AppRow } from '../db/rows.ts'
import { packageKey } from './policy.ts'

/**
 * Returns the actor's own deleted app that has the name, locked: it has to give the name up. Throws
 * `package_name_taken` if another app than `ownId` has it; it says which app only if it is the
 * actor's.
 */
export async function findNameToRelease(
  { sql }: QueryRunner,
  name: string | null,
  actor: Actor,
  ownId?: number,
): Promise<AppRow | undefined> {
  if (name === null) return undefined
  const withName = { package_key: packageKey(name) }
  const holder = await sql('apps').where(withName).first('id', 'developer_id', 'deleted_at')
  if (!holder || holder.id === ownId) return undefined
  // To a key for one app, the others are those of a stranger.
  const isActors =
    'developerId' in actor && !actor.appId && holder.developer_id === actor.developerId
  if (isActors && holder.deleted_at !== null) {
    const { id, developer_id } = holder
    const deleted = await sql('apps')
      .where({ ...withName, id, developer_id })
      .whereNotNull('deleted_at')
      .forUpdate()
      .first()
    if (!deleted) throw new Conflict(`app ${id} was restored, or has given up its package name`)
    return deleted
  }
  const { taken, advice } = isActors
    ? {
        taken: `is taken by your app ${holder.id}`,
        advice: 'update that app, or choose another name',
      }
    : { taken: 'is taken by another app', advice: 'choose another name' }
  throw new ServiceError('package_name_taken', `The package name ${name} ${taken}; ${advice}.`, {
    errors: [{ in: 'body', field: '/package_name', message: taken }],
    ...(isActors && { appId: holder.id }),
  })
}
