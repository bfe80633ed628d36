import type { Table } from './scenario.ts'

export const listCategories: Table = ({ keys, categories }) => [
  {
    name: 'lists all categories by name, with the number of their approved apps',
    request: ['GET', '/categories'],
    status: 200,
    message: /^3 categories\.$/,
    data: {
      categories: [
        { id: categories.empty, slug: 'empty', name: 'Empty', app_count: 0 },
        { id: categories.games, slug: 'games', name: 'Games', app_count: 1 },
        { id: categories.tools, slug: 'tools', name: 'Tools', app_count: 1 },
      ],
    },
  },
  {
    name: 'can be cached publicly, with revalidation',
    request: ['GET', '/categories'],
    status: 200,
    headers: { 'Cache-Control': 'public, no-cache', Vary: 'Authorization, Accept-Encoding' },
  },
  {
    name: 'is private with a key',
    request: ['GET', '/categories', { key: keys.ada }],
    status: 200,
    headers: { 'Cache-Control': 'private, no-cache' },
  },
  {
    name: 'answers HEAD with the headers of GET',
    request: ['HEAD', '/categories'],
    status: 200,
    headers: { 'Content-Length': /^\d{3}$/ },
  },
  {
    name: 'answers If-None-Match: * with 304',
    request: ['GET', '/categories', { headers: { 'If-None-Match': '*' } }],
    status: 304,
  },
  {
    name: 'refuses pages, which it does not have',
    request: ['GET', '/categories?page=1&limit=20'],
    status: 400,
    problems: ['query page', 'query limit'],
  },
  {
    name: 'refuses to answer in XML',
    request: ['GET', '/categories', { headers: { Accept: 'application/xml' } }],
    status: 406,
    code: 'not_acceptable',
  },
  {
    name: 'refuses a bad key',
    request: ['GET', '/categories', { key: 'apps_nope' }],
    status: 401,
    code: 'unauthorized',
  },
  {
    name: 'is read-only',
    request: ['POST', '/categories', { key: keys.ada, json: {} }],
    status: 405,
    headers: { Allow: 'GET, HEAD, OPTIONS' },
  },
]
