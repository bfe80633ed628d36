/**
 * By operation: whether it needs a key, which parameters have a default, its success, and the
 * headers of that which its handler sets. scripts/server-types.ts writes this.
 */
export interface ServerFacts {
  listApps: { needsKey: false; query: 'page' | 'limit'; status: 200; headers: 'Link' | 'X-Total-Count' }
  createApp: { needsKey: true; query: never; status: 201; headers: 'Location' }
  getApp: { needsKey: false; query: never; status: 200; headers: never }
  updateApp: { needsKey: true; query: never; status: 200; headers: 'ETag' }
  deleteApp: { needsKey: true; query: never; status: 200; headers: never }
  listCategories: { needsKey: false; query: never; status: 200; headers: never }
  listOwnApps: { needsKey: true; query: 'page' | 'limit'; status: 200; headers: 'Link' | 'X-Total-Count' }
}
