import { expect } from 'vitest'
import { pick } from '../../../src/util/helpers.ts'
import { wholeApp } from '../../support/whole-app.ts'
import { listed, type Table } from './scenario.ts'

export const listOwnApps: Table = ({ apps, keys }) => [
  {
    name: 'lists the apps of the developer in every state but deleted, and no one else’s',
    request: ['GET', '/developer/apps', { key: keys.ada }],
    status: 200,
    message: /^Page 1 of 1\.$/,
    data: listed(['Broken Compass', 'Tide Clock', 'Cloud Atlas']),
  },
  {
    name: 'lists one app with the key for it',
    request: ['GET', '/developer/apps', { key: keys.oneApp }],
    status: 200,
    data: listed(['Cloud Atlas']),
  },
  {
    name: 'lists nothing with the key for an app in another state',
    request: ['GET', '/developer/apps?status=approved', { key: keys.oneApp }],
    status: 200,
    message: /^You have no approved apps\.$/,
    data: listed([]),
  },
  {
    name: 'lists everything with a read-only key',
    request: ['GET', '/developer/apps', { key: keys.readOnly }],
    status: 200,
    data: listed(['Broken Compass', 'Tide Clock', 'Cloud Atlas']),
  },
  {
    name: 'lists the apps of another developer with their key',
    request: ['GET', '/developer/apps', { key: keys.bob }],
    status: 200,
    data: listed(['Bird Song', 'Night Train']),
  },
  {
    name: 'has the fields of a summary, and those that only an owner needs',
    request: ['GET', '/developer/apps?status=rejected', { key: keys.ada }],
    status: 200,
    data: {
      apps: [
        {
          id: apps.rejected,
          name: 'Broken Compass',
          slug: 'broken-compass',
          description: 'Broken Compass is here.',
          developer_name: 'Ada',
          category_name: 'Tools',
          total_downloads: 0,
          average_rating: 0,
          status: 'rejected',
          rejection_reason: 'It points south.',
          version: '1.0.0',
          created_at: '2020-01-01T00:00:00.000Z',
          updated_at: expect.any(String),
          decided_at: expect.any(String),
        },
      ],
      pagination: { current_page: 1, total_pages: 1, per_page: 20 },
    },
  },
  {
    name: 'shows the package name, and no reason for an approved app',
    request: ['GET', '/developer/apps?status=approved', { key: keys.ada }],
    status: 200,
    data: {
      apps: [
        {
          id: apps.approved,
          name: 'Tide Clock',
          slug: 'tide-clock',
          description: 'Tide Clock is here.',
          developer_name: 'Ada',
          category_name: 'Tools',
          total_downloads: 100,
          average_rating: 4.67,
          status: 'approved',
          version: '1.0.0',
          ...pick(wholeApp, 'package_name', 'keywords'),
          created_at: '2020-01-01T00:00:00.000Z',
          updated_at: expect.any(String),
          decided_at: expect.any(String),
        },
      ],
      pagination: { current_page: 1, total_pages: 1, per_page: 20 },
    },
  },
  {
    name: 'says since when an app waits, and nothing of a decision',
    request: ['GET', '/developer/apps?status=pending', { key: keys.ada }],
    status: 200,
    data: {
      apps: [expect.objectContaining({ waiting_since: '2020-01-01T00:00:00.000Z' })],
      pagination: { current_page: 1, total_pages: 1, per_page: 20 },
    },
    without: /decided_at/,
  },
  {
    name: 'says that there are no apps of a status',
    request: ['GET', '/developer/apps?status=rejected', { key: keys.bob }],
    status: 200,
    message: /^You have no rejected apps\.$/,
    data: listed([]),
  },
  {
    name: 'shows the second page, and links to it',
    request: ['GET', '/developer/apps?limit=2&page=2', { key: keys.ada }],
    status: 200,
    data: listed(['Cloud Atlas'], { current_page: 2, total_pages: 2, per_page: 2 }),
    headers: {
      Link: '<http://apps.test/developer/apps?limit=2&page=1>; rel="first", <http://apps.test/developer/apps?limit=2&page=1>; rel="prev", <http://apps.test/developer/apps?limit=2&page=2>; rel="last"',
    },
  },
  {
    name: 'shows an empty page far past the end',
    request: ['GET', '/developer/apps?page=2147483647&limit=100', { key: keys.ada }],
    status: 200,
    data: listed([], { current_page: 2147483647, total_pages: 1, per_page: 100 }),
  },
  {
    name: 'is private, and must be revalidated',
    request: ['GET', '/developer/apps', { key: keys.ada }],
    status: 200,
    headers: { 'Cache-Control': 'private, no-cache', Vary: 'Authorization, Accept-Encoding' },
  },
  {
    name: 'answers HEAD with the headers of GET',
    request: ['HEAD', '/developer/apps', { key: keys.ada }],
    status: 200,
    headers: { 'Content-Length': /^\d{3,4}$/, ETag: /^"/ },
  },
  {
    name: 'answers If-None-Match: * with 304',
    request: ['GET', '/developer/apps', { key: keys.ada, headers: { 'If-None-Match': '*' } }],
    status: 304,
  },
  {
    name: 'refuses a request without a key',
    request: ['GET', '/developer/apps'],
    status: 401,
    code: 'unauthorized',
    headers: { 'WWW-Authenticate': /^Bearer/ },
  },
  {
    name: 'refuses an expired key',
    request: ['GET', '/developer/apps', { key: keys.expired }],
    status: 401,
    without: /Tide Clock/,
  },
  {
    name: 'reports all problems together',
    request: ['GET', '/developer/apps?status=deleted&limit=101&search=tide', { key: keys.ada }],
    status: 400,
    problems: ['query status', 'query limit', 'query search'],
  },
  {
    name: 'refuses an empty status',
    request: ['GET', '/developer/apps?status=', { key: keys.ada }],
    status: 400,
    problems: ['query status'],
  },
  {
    name: 'refuses to answer in XML',
    request: ['GET', '/developer/apps', { key: keys.ada, headers: { Accept: 'application/xml' } }],
    status: 406,
  },
  {
    name: 'is read-only',
    request: ['POST', '/developer/apps', { key: keys.ada, json: {} }],
    status: 405,
    headers: { Allow: 'GET, HEAD, OPTIONS' },
  },
  {
    name: 'does not exist without its last part',
    request: ['GET', '/developer', { key: keys.ada }],
    status: 404,
  },
]
