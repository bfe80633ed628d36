import { newApp } from '../valid-requests.ts'
import type { Table } from './scenario.ts'

/** Unknown paths, and methods that a path does not have. */
export const pathsAndMethods: Table = ({ apps, keys }) => [
  {
    name: 'answers 404 for an unknown path',
    request: ['GET', '/nowhere'],
    status: 404,
    code: 'not_found',
    message: /^This path does not exist; http:\/\/apps\.test\/openapi\.json lists those that do\.$/,
  },
  {
    name: 'answers 404 for an unknown path that cannot be decoded',
    request: ['GET', '/%'],
    status: 404,
  },
  { name: 'answers 404 for a slash at the end', request: ['GET', '/apps/'], status: 404 },
  { name: 'answers 404 for a path in capitals', request: ['GET', '/APPS'], status: 404 },
  {
    name: 'answers 404 for a path below an app',
    request: ['GET', '/apps/1/reviews'],
    status: 404,
  },
  {
    name: 'answers 405 for an undeclared method',
    request: ['PATCH', '/apps'],
    status: 405,
    code: 'method_not_allowed',
    message: /; use one of GET, HEAD, POST, OPTIONS\.$/,
    headers: { Allow: 'GET, HEAD, POST, OPTIONS' },
  },
  {
    name: 'answers 405 for POST to an app',
    request: ['POST', `/apps/${apps.approved}`, { key: keys.ada, json: newApp }],
    status: 405,
    message: /; use one of GET, HEAD, PUT, DELETE, OPTIONS\.$/,
    headers: { Allow: 'GET, HEAD, PUT, DELETE, OPTIONS' },
  },
  {
    name: 'answers OPTIONS of the list',
    request: ['OPTIONS', '/apps'],
    status: 204,
    headers: { Allow: 'GET, HEAD, POST, OPTIONS' },
  },
  {
    name: 'answers OPTIONS of an app',
    request: ['OPTIONS', '/apps/1'],
    status: 204,
    headers: { Allow: 'GET, HEAD, PUT, DELETE, OPTIONS' },
  },
  {
    name: 'answers 404 to OPTIONS of an unknown path',
    request: ['OPTIONS', '/nowhere'],
    status: 404,
  },
  {
    name: 'allows pages of other origins to read, not to write',
    request: [
      'OPTIONS',
      '/apps',
      { headers: { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' } },
    ],
    status: 204,
    headers: { 'Access-Control-Allow-Methods': 'GET,HEAD' },
  },
  {
    name: 'answers 405 for writing the document',
    request: ['PUT', '/openapi.json', { json: {} }],
    status: 405,
    headers: { Allow: 'GET, HEAD, OPTIONS' },
  },
  { name: 'answers OPTIONS of the document', request: ['OPTIONS', '/openapi.json'], status: 204 },
  {
    name: 'does not name its framework',
    request: ['GET', '/apps'],
    status: 200,
    without: /express/i,
  },
]
