import type { Actor } from '../audit/audit-store.ts'
import { ServiceError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { AppRow } from '../db/rows.ts'
import { packageKey } from './policy.ts'

/**
 * Throws `package_name_taken` if an app other than `ownId` has the name; it says which app only if
 * it is the actor's.
 */
export async function assertPackageNameFree(
  { sql }: QueryRunner,
  name: string | null,
  actor: Actor,
  ownId?: number,
): Promise<void> {
  if (name === null) return
  const holder = await sql('apps')
    .where({ package_key: packageKey(name) })
    .first('id', 'developer_id', 'deleted_at')
  if (!holder || holder.id === ownId) return
  const isActors = 'developerId' in actor && holder.developer_id === actor.developerId
  const advice = isActors ? describeOwnHolder(holder) : '; choose another.'
  throw new ServiceError('package_name_taken', `The package name ${name} is taken${advice}`, {
    errors: [{ in: 'body', field: '/package_name', message: 'is taken by another app' }],
    ...(isActors && holder.deleted_at === null && { appId: holder.id }),
  })
}

/** Names the app of the developer that has the package name, and says what to do. */
const describeOwnHolder = ({ id, deleted_at }: Pick<AppRow, 'id' | 'deleted_at'>) =>
  deleted_at === null
    ? ` by your app ${id}; update that app, or choose another name.`
    : ` by your deleted app ${id}; ask the operators to restore it (app restore ${id}), or choose another name.`
