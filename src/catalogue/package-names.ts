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
  const { taken, advice } = isActors ? describeOwnHolder(holder) : foreignHolder
  throw new ServiceError('package_name_taken', `The package name ${name} ${taken}; ${advice}.`, {
    errors: [{ in: 'body', field: '/package_name', message: taken }],
    ...(isActors && holder.deleted_at === null && { appId: holder.id }),
  })
}

const foreignHolder = { taken: 'is taken by another app', advice: 'choose another name' }

/** Names the app of the developer that has the package name, and says what to do. */
const describeOwnHolder = ({ id, deleted_at }: Pick<AppRow, 'id' | 'deleted_at'>) =>
  deleted_at === null
    ? {
        taken: `is taken by your app ${id}`,
        advice: 'update that app, or choose another name',
      }
    : {
        taken: `is taken by your deleted app ${id}`,
        advice: `ask the operators to restore it (app restore ${id}), or choose another name`,
      }
