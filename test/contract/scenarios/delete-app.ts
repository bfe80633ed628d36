import type { Call } from '../valid-requests.ts'
import type { Table } from './scenario.ts'

export const deleteApp: Table = ({ apps, keys }) => [
  {
    name: 'deletes an app',
    request: ['DELETE', `/apps/${apps.approved}`, { key: keys.ada }],
    status: 200,
    data: { app_id: apps.approved },
  },
  {
    name: 'takes a key for this app',
    request: ['DELETE', `/apps/${apps.pending}`, { key: keys.oneApp }],
    status: 200,
  },
  ...[
    ['another own app', apps.approved],
    ['an own app that is not listed', apps.rejected],
    ['a deleted app', apps.deleted],
    ['somebody else’s app', apps.bobs],
    ['somebody else’s app that is not listed', apps.bobsPending],
    ['an app that does not exist', 999],
    ['an id that is no number', 'x'],
  ].map(([what, id]) => ({
    name: `refuses a key for one app alike for ${what}`,
    request: ['DELETE', `/apps/${id}`, { key: keys.oneApp }] satisfies Call,
    status: 403,
    code: 'forbidden',
    message: new RegExp(
      `^This API key is only for updating or deleting app ${apps.pending}; use another key\\.$`,
    ),
  })),
  {
    name: 'refuses a read-only key',
    request: ['DELETE', `/apps/${apps.pending}`, { key: keys.readOnly }],
    status: 403,
    code: 'forbidden',
    message: /only for reading;/,
  },
  {
    name: 'deletes a pending app',
    request: ['DELETE', `/apps/${apps.pending}`, { key: keys.ada }],
    status: 200,
  },
  {
    name: 'accepts If-Match: *',
    request: ['DELETE', `/apps/${apps.pending}`, { key: keys.ada, headers: { 'If-Match': '*' } }],
    status: 200,
  },
  {
    name: 'refuses a stale If-Match',
    request: [
      'DELETE',
      `/apps/${apps.approved}`,
      { key: keys.ada, headers: { 'If-Match': 'W/"x"' } },
    ],
    status: 412,
  },
  {
    name: 'refuses a bad id',
    request: ['DELETE', '/apps/-1', { key: keys.ada }],
    status: 400,
    problems: ['path id'],
  },
  {
    name: 'refuses a request without a key',
    request: ['DELETE', `/apps/${apps.approved}`],
    status: 401,
  },
  {
    name: "refuses somebody else's visible app",
    request: ['DELETE', `/apps/${apps.bobs}`, { key: keys.ada }],
    status: 403,
    code: 'forbidden',
  },
  {
    name: "hides somebody else's pending app",
    request: ['DELETE', `/apps/${apps.bobsPending}`, { key: keys.ada }],
    status: 404,
  },
  {
    name: 'hides an app that is already deleted',
    request: ['DELETE', `/apps/${apps.deleted}`, { key: keys.ada }],
    status: 404,
  },
  {
    name: 'refuses to answer in XML',
    request: [
      'DELETE',
      `/apps/${apps.approved}`,
      { key: keys.ada, headers: { Accept: 'text/xml' } },
    ],
    status: 406,
  },
]
