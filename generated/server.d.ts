/** By operation: whether it needs a key, and what has a default. scripts/server-types.ts writes this. */
export interface ServerFacts {
  listApps: { needsKey: false; query: 'page' | 'limit'; body: never }
  createApp: { needsKey: true; query: never; body: 'version' }
  getApp: { needsKey: false; query: never; body: never }
  updateApp: { needsKey: true; query: never; body: never }
  deleteApp: { needsKey: true; query: never; body: never }
  listCategories: { needsKey: false; query: never; body: never }
  listOwnApps: { needsKey: true; query: 'page' | 'limit'; body: never }
}
