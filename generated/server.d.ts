/** By operation: whether it needs a key, and which parameters have a default. scripts/server-types.ts writes this. */
export interface ServerFacts {
  listApps: { needsKey: false; query: 'page' | 'limit' }
  createApp: { needsKey: true; query: never }
  getApp: { needsKey: false; query: never }
  updateApp: { needsKey: true; query: never }
  deleteApp: { needsKey: true; query: never }
  listCategories: { needsKey: false; query: never }
  listOwnApps: { needsKey: true; query: 'page' | 'limit' }
}
