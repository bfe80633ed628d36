/**
 * By operation: whether it needs a key, which parameters have a default, its success, and the headers of that which its
 * handler sets. scripts/server-types.ts writes this.
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

/** The status of the errors with a code. */
export interface ErrorStatuses {
  forbidden: 403
  idempotency_key_reused: 422
  internal_error: 500
  invalid_request: 400
  malformed_json: 400
  method_not_allowed: 405
  not_acceptable: 406
  not_found: 404
  package_name_taken: 409
  payload_too_large: 413
  precondition_failed: 412
  rate_limited: 429
  request_timeout: 408
  unauthorized: 401
  unavailable: 503
  unknown_category: 422
  unsupported_media_type: 415
}
