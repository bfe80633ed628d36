import type { World } from '../../support/world.ts'
import { type Call, newApp } from '../valid-requests.ts'
import { jsonType, type Table } from './scenario.ts'

const createWithKey = (keys: World['keys'], value: string): Call => [
  'POST',
  '/apps',
  { key: keys.ada, headers: { 'Idempotency-Key': value }, json: newApp },
]

export const createApp: Table = ({ apps, keys }) => [
  {
    name: 'creates a pending app',
    request: ['POST', '/apps', { key: keys.ada, json: newApp }],
    status: 201,
    data: { app_id: apps.bobsPending + 1, slug: 'star-map', status: 'pending' },
    message: /awaits admin approval/,
    headers: {
      Location: `http://apps.test/apps/${apps.bobsPending + 1}`,
      'Cache-Control': 'no-store',
    },
  },
  {
    name: 'ignores If-None-Match',
    request: ['POST', '/apps', { key: keys.ada, headers: { 'If-None-Match': '*' }, json: newApp }],
    status: 201,
  },
  {
    name: 'refuses a request without a key',
    request: ['POST', '/apps', { json: newApp }],
    status: 401,
    code: 'unauthorized',
    headers: { 'WWW-Authenticate': 'Bearer realm="apps"' },
  },
  {
    name: 'refuses a malformed key',
    request: ['POST', '/apps', { key: 'secret', json: newApp }],
    status: 401,
    headers: {
      'WWW-Authenticate': /^Bearer realm="apps", error="invalid_token", error_description="[^"]+"$/,
    },
  },
  {
    name: 'refuses a key with a wrong checksum',
    request: [
      'POST',
      '/apps',
      { key: `${keys.ada.slice(0, -1)}${keys.ada.endsWith('0') ? '1' : '0'}`, json: newApp },
    ],
    status: 401,
  },
  {
    name: 'treats a scheme other than Bearer as a missing key',
    headers: { 'WWW-Authenticate': 'Bearer realm="apps"' },
    request: ['POST', '/apps', { headers: { Authorization: `Basic ${keys.ada}` }, json: newApp }],
    status: 401,
  },
  {
    name: 'accepts the scheme in any case',
    request: ['POST', '/apps', { headers: { Authorization: `bearer ${keys.ada}` }, json: newApp }],
    status: 201,
  },
  {
    name: 'refuses an expired key',
    request: ['POST', '/apps', { key: keys.expired, json: newApp }],
    status: 401,
    message: /expired/,
  },
  {
    name: 'refuses a revoked key',
    request: ['POST', '/apps', { key: keys.revoked, json: newApp }],
    status: 401,
    message: /revoked/,
  },
  {
    name: 'refuses a key for one app, whatever the body',
    request: ['POST', '/apps', { key: keys.oneApp, headers: jsonType, body: '{' }],
    status: 403,
    code: 'forbidden',
    message: new RegExp(`^This API key is only for updating or deleting app ${apps.pending};`),
  },
  {
    name: 'refuses a read-only key, whatever the body',
    request: ['POST', '/apps', { key: keys.readOnly, headers: jsonType, body: '{' }],
    status: 403,
    code: 'forbidden',
    message: /^This API key is only for reading;/,
  },
  {
    name: 'checks the key before the body',
    request: ['POST', '/apps', { headers: jsonType, body: '{' }],
    status: 401,
  },
  {
    name: 'checks the key before the size of the body',
    request: ['POST', '/apps', { headers: jsonType, body: 'x'.repeat(300_000) }],
    status: 401,
  },
  ...['"k-1"', 'k-1', '"a\\"b\\\\c"', 'a"b\\c', '~'.repeat(255), `"${'~'.repeat(255)}"`].map(
    (value) => ({
      name: `takes the Idempotency-Key ${value.slice(0, 20)} of ${value.length} characters`,
      request: createWithKey(keys, value),
      status: 201,
    }),
  ),
  ...[
    ['of 256 characters', 'k'.repeat(256)],
    ['of 256 characters in quotes', `"${'k'.repeat(256)}"`],
    ['of 513 characters', 'k'.repeat(513)],
    ['that is empty', ''],
    ['that is empty in quotes', '""'],
    ['with a space', 'a b'],
    ['with a space in quotes', '"a b"'],
    ['without its closing quote', '"k-1'],
    ['with an unescaped quote in quotes', '"a"b"'],
    ['with another escape', '"a\\b"'],
    ['with parameters', '"k-1";a=1'],
    ['that is not ASCII', 'é'],
  ].map(([what = '', value = '']) => ({
    name: `refuses an Idempotency-Key ${what}`,
    request: createWithKey(keys, value),
    status: 400,
    code: 'invalid_request',
    problems: ['header Idempotency-Key'],
  })),
  {
    name: 'refuses an unknown parameter',
    request: ['POST', '/apps?draft=1', { key: keys.ada, json: newApp }],
    status: 400,
    problems: ['query draft'],
  },
  {
    name: 'refuses to answer in XML',
    request: [
      'POST',
      '/apps',
      { key: keys.ada, json: newApp, headers: { Accept: 'application/xml' } },
    ],
    status: 406,
  },
]
