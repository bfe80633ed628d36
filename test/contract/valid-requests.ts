import type { OperationId } from '../../src/contract/contract.ts'
import type { RequestOptions } from '../support/check.ts'
import type { World } from '../support/world.ts'

/** A request, as service.request takes it. */
export type Call = [method: string, path: string, options?: RequestOptions]

export const newApp = { name: 'Star Map', description: 'The sky above you.', category_id: 1 }

/** A valid request for each operation, to the world of support/world.ts. Every test that needs one takes it from here. */
export const validRequests = ({ apps, keys }: World): Record<OperationId, Call> => ({
  listApps: ['GET', '/apps'],
  getApp: ['GET', `/apps/${apps.approved}`],
  createApp: ['POST', '/apps', { key: keys.ada, json: newApp }],
  updateApp: ['PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { name: 'Tide Watch' } }],
  deleteApp: ['DELETE', `/apps/${apps.approved}`, { key: keys.ada }],
})
