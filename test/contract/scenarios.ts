import { expect } from 'vitest'
import type { OperationId } from '../../src/contract/contract.ts'
import type { CheckedResponse } from '../support/check.ts'
import type { World } from '../support/world.ts'
import { type Call, newApp } from './valid-requests.ts'

/**
 * One request to the world of support/world.ts, and the expected response. The tables record the
 * interface's decisions.
 */
export type Scenario = {
  name: string
  request: Call
  status: number
  code?: string
  /** `in field` of each problem, in any order. */
  problems?: string[]
  message?: RegExp
  data?: object
  headers?: Record<string, string | RegExp>
  /** What the response and its headers must not contain. */
  without?: RegExp
}

const jsonType = { 'Content-Type': 'application/json' }

export function expectResponse(
  { status, code, problems, message, data, headers = {}, without }: Scenario,
  reply: CheckedResponse,
) {
  expect(reply.status, reply.text).toBe(status)
  if (code !== undefined) expect(reply.body.data.code).toBe(code)
  if (problems) {
    const found = reply.body.data.errors.map(
      (problem: { in: string; field: string }) => `${problem.in} ${problem.field}`,
    )
    expect(found.toSorted()).toEqual(problems.toSorted())
  }
  if (message) expect(reply.body.message).toMatch(message)
  if (data) expect(reply.body.data).toEqual(data)
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') expect(reply.headers[name.toLowerCase()], name).toBe(value)
    else expect(reply.headers[name.toLowerCase()], name).toMatch(value)
  }
  if (without) expect(`${JSON.stringify(reply.headers)}${reply.text}`).not.toMatch(without)
}

const placeholder: World = {
  source: '',
  keys: { ada: '', bob: '', expired: '', revoked: '' },
  categories: { tools: 0, games: 0, empty: 0 },
  apps: { approved: 0, pending: 0, rejected: 0, deleted: 0, bobs: 0, bobsPending: 0 },
}

/** Names are the same in every world; ids and keys are filled in when the test runs. */
export const namesOf = (table: Table) => table(placeholder).map(({ name }) => name)

export function scenarioOf(table: Table, name: string, world: World): Scenario {
  const scenario = table(world).find((one) => one.name === name)
  if (!scenario) throw new Error(`no scenario ${name}`)
  return scenario
}

const listed = (
  names: string[],
  pages: Partial<Record<'current_page' | 'total_pages' | 'per_page', number>> = {},
) => ({
  apps: names.map((name) => expect.objectContaining({ name })),
  pagination: { current_page: 1, total_pages: names.length > 0 ? 1 : 0, per_page: 20, ...pages },
})

const createWith = (keys: World['keys'], fields: object): Call => [
  'POST',
  '/apps',
  { key: keys.ada, json: { ...newApp, ...fields } },
]

const createWithKey = (keys: World['keys'], value: string): Call => [
  'POST',
  '/apps',
  { key: keys.ada, headers: { 'Idempotency-Key': value }, json: newApp },
]

type Table = (world: World) => Scenario[]

/** Scenarios by operation, and those of unknown paths and methods. */
export const tables: Record<OperationId | 'paths and methods', Table> = {
  listApps: ({ keys }) => [
    {
      name: 'lists only approved apps, newest approval first',
      request: ['GET', '/apps'],
      status: 200,
      data: listed(['Bird Song', 'Tide Clock']),
    },
    {
      name: 'has exactly the eight fields of a summary',
      request: ['GET', '/apps?category=tools'],
      status: 200,
      data: {
        apps: [
          {
            id: 1,
            name: 'Tide Clock',
            slug: 'tide-clock',
            description: 'Tide Clock is here.',
            developer_name: 'Ada',
            category_name: 'Tools',
            total_downloads: 100,
            average_rating: 4.67,
          },
        ],
        pagination: { current_page: 1, total_pages: 1, per_page: 20 },
      },
    },
    {
      name: 'sorts by downloads',
      request: ['GET', '/apps?sort=popular'],
      status: 200,
      data: listed(['Tide Clock', 'Bird Song']),
    },
    {
      name: 'sorts by rating',
      request: ['GET', '/apps?sort=rating'],
      status: 200,
      data: listed(['Tide Clock', 'Bird Song']),
    },
    {
      name: 'sorts by first approval',
      request: ['GET', '/apps?sort=latest'],
      status: 200,
      data: listed(['Bird Song', 'Tide Clock']),
    },
    {
      name: 'filters by category',
      request: ['GET', '/apps?category=games'],
      status: 200,
      data: listed(['Bird Song']),
    },
    {
      name: 'finds nothing in an empty category',
      request: ['GET', '/apps?category=empty'],
      status: 200,
      data: listed([]),
    },
    {
      name: 'finds nothing in an unknown category, and says where the categories are',
      request: ['GET', '/apps?category=Games'],
      status: 200,
      message: /^No category has the slug "Games"; GET \/categories lists them\.$/,
      data: listed([]),
    },
    {
      name: 'takes a category with the longest slug',
      request: ['GET', `/apps?category=${'a'.repeat(80)}`],
      status: 200,
      data: listed([]),
    },
    {
      name: 'finds nothing on a late page of an unknown category',
      request: ['GET', '/apps?category=nope&limit=100&page=100'],
      status: 200,
      message: /^No category has the slug "nope";/,
      data: listed([], { current_page: 100, per_page: 100 }),
    },
    {
      name: 'finds nothing by a search in an unknown category',
      request: ['GET', '/apps?category=nope&search=tide'],
      status: 200,
      message: /^No category has the slug "nope";/,
      data: listed([]),
    },
    {
      name: 'finds an app by its slug',
      request: ['GET', '/apps?slug=tide-clock'],
      status: 200,
      message: /^Page 1 of 1\.$/,
      data: listed(['Tide Clock']),
    },
    {
      name: 'finds nothing by the beginning of a slug',
      request: ['GET', '/apps?slug=tide'],
      status: 200,
      message: /^No apps match\.$/,
      data: listed([]),
    },
    {
      name: 'finds an app by its slug, in any case',
      request: ['GET', '/apps?slug=Tide-CLOCK'],
      status: 200,
      message: /^Page 1 of 1\.$/,
      data: listed(['Tide Clock']),
    },
    {
      name: 'finds an app by its package name, in any case',
      request: ['GET', '/apps?package_name=Org.Example.TideClock'],
      status: 200,
      data: listed(['Tide Clock']),
    },
    {
      name: 'does not find a pending app by its slug, even with the key of its owner',
      request: ['GET', '/apps?slug=cloud-atlas', { key: keys.ada }],
      status: 200,
      data: listed([]),
    },
    {
      name: 'does not find a deleted app by its package name',
      request: ['GET', '/apps?package_name=org.example.gone'],
      status: 200,
      data: listed([]),
    },
    {
      name: 'finds an app that has the slug and the package name',
      request: ['GET', '/apps?slug=tide-clock&package_name=org.example.tideclock'],
      status: 200,
      data: listed(['Tide Clock']),
    },
    {
      name: 'finds nothing if the slug and the package name are those of two apps',
      request: ['GET', '/apps?slug=bird-song&package_name=org.example.tideclock'],
      status: 200,
      data: listed([]),
    },
    {
      name: 'finds an app by its slug in its category',
      request: ['GET', '/apps?slug=tide-clock&category=tools'],
      status: 200,
      data: listed(['Tide Clock']),
    },
    {
      name: 'finds nothing by the slug of an app in another category',
      request: ['GET', '/apps?slug=tide-clock&category=games'],
      status: 200,
      data: listed([]),
    },
    {
      name: 'finds an app by its package name in its category',
      request: ['GET', '/apps?package_name=org.example.tideclock&category=tools'],
      status: 200,
      data: listed(['Tide Clock']),
    },
    {
      name: 'finds nothing by the package name of an app in another category',
      request: ['GET', '/apps?package_name=org.example.tideclock&category=games'],
      status: 200,
      data: listed([]),
    },
    {
      name: 'finds nothing by a slug in an unknown category',
      request: ['GET', '/apps?slug=tide-clock&category=nope'],
      status: 200,
      message: /^No category has the slug "nope";/,
      data: listed([]),
    },
    {
      name: 'searches the app with the slug',
      request: ['GET', '/apps?slug=tide-clock&search=here'],
      status: 200,
      data: listed(['Tide Clock']),
    },
    {
      name: 'searches the app with the slug in an order',
      request: ['GET', '/apps?slug=tide-clock&search=here&sort=popular'],
      status: 200,
      data: listed(['Tide Clock']),
    },
    {
      name: 'says nothing about other apps that the search finds, if the app with the slug has all words',
      request: ['GET', '/apps?slug=tide-clock&search=tide+here+clock'],
      status: 200,
      message: /^Page 1 of 1\.$/,
      data: listed(['Tide Clock']),
    },
    {
      name: 'searches the app with the package name',
      request: ['GET', '/apps?package_name=org.example.tideclock&search=here'],
      status: 200,
      data: listed(['Tide Clock']),
    },
    {
      name: 'finds nothing if the app with the slug does not match the search',
      request: ['GET', '/apps?slug=tide-clock&search=bird'],
      status: 200,
      data: listed([]),
    },
    {
      name: 'shows an empty second page of the app with the slug',
      request: ['GET', '/apps?slug=tide-clock&page=2'],
      status: 200,
      data: listed([], { current_page: 2, total_pages: 1 }),
    },
    {
      name: 'finds nothing by an empty slug, and says that it is empty',
      request: ['GET', '/apps?slug='],
      status: 200,
      message: /^slug is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
      headers: { Link: /^<[^<>]+\/apps\?slug=&page=1&limit=20>; rel="first"$/ },
    },
    {
      name: 'finds nothing by an empty package name, and says that it is empty',
      request: ['GET', '/apps?package_name='],
      status: 200,
      message: /^package_name is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'finds nothing by an empty slug and an empty package name, and says so of both',
      request: ['GET', '/apps?slug=&package_name='],
      status: 200,
      message:
        /^slug is empty, so no app matches; set it, or leave it out\. package_name is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'finds nothing by a slug of white space',
      request: ['GET', '/apps?slug=%20%09'],
      status: 200,
      message: /^slug is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'finds nothing by a package name of white space',
      request: ['GET', '/apps?package_name=%20'],
      status: 200,
      message: /^package_name is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'finds nothing by an empty slug beside the package name of an app',
      request: ['GET', '/apps?slug=&package_name=org.example.tideclock'],
      status: 200,
      message: /^slug is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'finds nothing by an empty package name beside the slug of an app',
      request: ['GET', '/apps?slug=tide-clock&package_name='],
      status: 200,
      message: /^package_name is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'finds nothing by an empty slug in a category',
      request: ['GET', '/apps?slug=&category=tools'],
      status: 200,
      message: /^slug is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'finds nothing by an empty slug in an unknown category',
      request: ['GET', '/apps?slug=&category=nope'],
      status: 200,
      message: /^slug is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'finds nothing by an empty slug in a search',
      request: ['GET', '/apps?slug=&search=tide'],
      status: 200,
      message: /^slug is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'finds nothing by an empty package name in an order and a search',
      request: ['GET', '/apps?package_name=&search=tide&sort=popular'],
      status: 200,
      message: /^package_name is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([]),
    },
    {
      name: 'shows an empty late page of an empty slug',
      request: ['GET', '/apps?slug=&page=200'],
      status: 200,
      message: /^slug is empty, so no app matches; set it, or leave it out\.$/,
      data: listed([], { current_page: 200 }),
    },
    {
      name: 'finds nothing by a slug and a package name with NUL',
      request: ['GET', '/apps?slug=%00&package_name=%00'],
      status: 200,
      data: listed([]),
    },
    {
      name: 'refuses a slug over 80 characters',
      request: ['GET', `/apps?slug=${'a'.repeat(81)}`],
      status: 400,
      problems: ['query slug'],
    },
    {
      name: 'refuses a package name over 255 characters',
      request: ['GET', `/apps?package_name=${'a'.repeat(256)}`],
      status: 400,
      problems: ['query package_name'],
    },
    {
      name: 'ignores an empty category',
      request: ['GET', '/apps?category='],
      status: 200,
      data: listed(['Bird Song', 'Tide Clock']),
    },
    {
      name: 'ignores an empty search',
      request: ['GET', '/apps?search='],
      status: 200,
      data: listed(['Bird Song', 'Tide Clock']),
    },
    {
      name: 'searches names',
      request: ['GET', '/apps?search=tide'],
      status: 200,
      data: listed(['Tide Clock']),
    },
    {
      name: 'searches within a category',
      request: ['GET', '/apps?search=here&category=games'],
      status: 200,
      data: listed(['Bird Song']),
    },
    {
      name: 'does not find pending, rejected and deleted apps',
      request: ['GET', '/apps?search=here'],
      status: 200,
      data: listed(['Tide Clock', 'Bird Song']),
    },
    {
      name: 'treats operators as text',
      request: ['GET', '/apps?search=%22%27*%20AND'],
      status: 200,
      data: listed(['Tide Clock']),
    },
    {
      name: 'finds nothing for text without a letter, digit or emoji',
      request: ['GET', '/apps?search=%22%27*%20%2B'],
      status: 200,
      data: listed([]),
    },
    {
      name: 'treats a stray percent sign in a search as text',
      request: ['GET', '/apps?search=100%'],
      status: 200,
      data: listed([]),
    },
    {
      name: 'shows the second page',
      request: ['GET', '/apps?page=2&limit=1'],
      status: 200,
      data: listed(['Tide Clock'], { current_page: 2, total_pages: 2, per_page: 1 }),
    },
    {
      name: 'shows an empty page past the end',
      request: ['GET', '/apps?page=9&limit=1'],
      status: 200,
      data: listed([], { current_page: 9, total_pages: 2, per_page: 1 }),
    },
    {
      name: 'shows an empty page far past the end',
      request: ['GET', '/apps?page=2147483647&limit=100'],
      status: 200,
      data: listed([], { current_page: 2147483647, total_pages: 1, per_page: 100 }),
    },
    {
      name: 'links to the existing pages',
      request: ['GET', '/apps?sort=popular&limit=1'],
      status: 200,
      headers: {
        Link: '<http://apps.test/apps?sort=popular&limit=1&page=1>; rel="first", <http://apps.test/apps?sort=popular&limit=1&page=2>; rel="next", <http://apps.test/apps?sort=popular&limit=1&page=2>; rel="last"',
      },
    },
    {
      name: 'links back from past the end to the last page',
      request: ['GET', '/apps?limit=1&page=9'],
      status: 200,
      headers: { Link: /page=2>; rel="prev"/ },
    },
    {
      name: 'links to the first page if nothing matches',
      request: ['GET', '/apps?search=zzz'],
      status: 200,
      headers: { Link: '<http://apps.test/apps?search=zzz&page=1&limit=20>; rel="first"' },
    },
    {
      name: 'can be cached publicly, with revalidation',
      request: ['GET', '/apps'],
      status: 200,
      headers: { 'Cache-Control': 'public, no-cache', Vary: 'Authorization, Accept-Encoding' },
    },
    {
      name: 'is private with a key',
      request: ['GET', '/apps', { key: keys.ada }],
      status: 200,
      headers: { 'Cache-Control': 'private, no-cache' },
    },
    {
      name: 'can be read by pages of any origin',
      request: ['GET', '/apps', { headers: { Origin: 'https://shop.example' } }],
      status: 200,
      headers: { 'Access-Control-Allow-Origin': '*' },
    },
    {
      name: 'answers HEAD with the headers of GET',
      request: ['HEAD', '/apps'],
      status: 200,
      headers: { 'Content-Length': /^\d{3}$/ },
    },
    {
      name: 'answers If-None-Match: * with 304',
      request: ['GET', '/apps', { headers: { 'If-None-Match': '*' } }],
      status: 304,
    },
    {
      name: 'answers If-None-Match with 304 despite Cache-Control: no-cache, which fetch sends with it',
      request: ['GET', '/apps', { headers: { 'If-None-Match': '*', 'Cache-Control': 'no-cache' } }],
      status: 304,
    },
    {
      name: 'refuses a limit of 0',
      request: ['GET', '/apps?limit=0'],
      status: 400,
      code: 'invalid_request',
      problems: ['query limit'],
    },
    {
      name: 'refuses a limit over 100 instead of clamping it',
      request: ['GET', '/apps?limit=101'],
      status: 400,
      problems: ['query limit'],
      message: /1 problem;/,
    },
    {
      name: 'refuses a hexadecimal page',
      request: ['GET', '/apps?page=0x10'],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'refuses a page in scientific notation',
      request: ['GET', '/apps?page=1e1'],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'refuses a page with a sign',
      request: ['GET', '/apps?page=%2B1'],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'refuses a page with a space',
      request: ['GET', '/apps?page=%201'],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'refuses a page with a leading zero',
      request: ['GET', '/apps?page=01'],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'refuses a fractional page',
      request: ['GET', '/apps?page=1.5'],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'treats a second question mark as part of the query',
      request: ['GET', '/apps?limit=1?2'],
      status: 400,
      problems: ['query limit'],
    },
    {
      name: 'refuses page 0',
      request: ['GET', '/apps?page=0'],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'refuses an empty page',
      request: ['GET', '/apps?page='],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'refuses a page beyond 32 bits',
      request: ['GET', '/apps?page=2147483648'],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'refuses a repeated page',
      request: ['GET', '/apps?page=1&page=2'],
      status: 400,
      problems: ['query page'],
    },
    {
      name: 'refuses a repeated search',
      request: ['GET', '/apps?search=a&search=b'],
      status: 400,
      problems: ['query search'],
    },
    {
      name: 'refuses an unknown sort',
      request: ['GET', '/apps?sort=foo'],
      status: 400,
      problems: ['query sort'],
    },
    {
      name: 'refuses an empty sort',
      request: ['GET', '/apps?sort='],
      status: 400,
      problems: ['query sort'],
    },
    {
      name: 'refuses a search over 100 characters',
      request: ['GET', `/apps?search=${'a'.repeat(101)}`],
      status: 400,
      problems: ['query search'],
    },
    {
      name: 'counts a search in code points',
      request: ['GET', `/apps?search=${encodeURIComponent('𝒜'.repeat(100))}`],
      status: 200,
    },
    {
      name: 'refuses an unknown parameter',
      request: ['GET', '/apps?colour=red'],
      status: 400,
      problems: ['query colour'],
    },
    {
      name: 'refuses a parameter named __proto__',
      request: ['GET', '/apps?__proto__=1'],
      status: 400,
      problems: ['query __proto__'],
    },
    {
      name: 'names a parameter as it was sent, not as a pointer',
      request: ['GET', '/apps?a%2Fb~=1'],
      status: 400,
      problems: ['query a/b~'],
    },
    {
      name: 'reports all problems together',
      request: ['GET', '/apps?page=x&limit=101&sort=foo&colour=red'],
      status: 400,
      message: /4 problems/,
      problems: ['query page', 'query limit', 'query sort', 'query colour'],
    },
    {
      name: 'refuses to answer in XML',
      request: ['GET', '/apps', { headers: { Accept: 'application/xml' } }],
      status: 406,
      code: 'not_acceptable',
    },
    {
      name: 'accepts JSON among other types in Accept',
      request: ['GET', '/apps', { headers: { Accept: 'text/html, application/*;q=0.1' } }],
      status: 200,
    },
    {
      name: 'accepts JSON with parameters in Accept',
      request: ['GET', '/apps', { headers: { Accept: 'application/json; charset=utf-8' } }],
      status: 200,
    },
    {
      name: 'refuses an Accept that excludes JSON by its weight',
      request: ['GET', '/apps', { headers: { Accept: '*/*, application/json;q=0' } }],
      status: 406,
    },
    {
      name: 'names a header as the document writes it',
      request: ['GET', '/apps', { headers: { 'If-None-Match': 'x'.repeat(1001) } }],
      status: 400,
      problems: ['header If-None-Match'],
    },
    {
      name: 'refuses a bad key on a read',
      request: ['GET', '/apps', { key: 'apps_nope' }],
      status: 401,
      code: 'unauthorized',
      headers: { 'WWW-Authenticate': /error="invalid_token"/ },
    },
  ],

  listCategories: ({ keys, categories }) => [
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
  ],

  listOwnApps: ({ keys, apps }) => [
    {
      name: 'lists the apps of the developer in every state but deleted, and no one else’s',
      request: ['GET', '/developer/apps', { key: keys.ada }],
      status: 200,
      message: /^Page 1 of 1\.$/,
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
            package_name: 'org.example.tideclock',
            created_at: '2020-01-01T00:00:00.000Z',
            updated_at: expect.any(String),
          },
        ],
        pagination: { current_page: 1, total_pages: 1, per_page: 20 },
      },
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
      request: [
        'GET',
        '/developer/apps',
        { key: keys.ada, headers: { Accept: 'application/xml' } },
      ],
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
  ],

  getApp: ({ apps, keys }) => [
    {
      name: 'shows an approved app to everyone, with its newest reviews first',
      request: ['GET', `/apps/${apps.approved}`],
      status: 200,
      data: {
        app: {
          id: apps.approved,
          name: 'Tide Clock',
          slug: 'tide-clock',
          description: 'Tide Clock is here.',
          developer_name: 'Ada',
          category_name: 'Tools',
          total_downloads: 100,
          average_rating: 4.67,
          short_description: 'High and low water',
          version: '1.0.0',
          package_name: 'org.example.tideclock',
          status: 'approved',
          category_id: 1,
          category_slug: 'tools',
          created_at: '2020-01-01T00:00:00.000Z',
          updated_at: expect.any(String),
          approved_at: expect.any(String),
          rating_count: 3,
          review_count: 3,
          reviews: [
            {
              id: 2,
              reviewer_name: 'Di',
              rating: 5,
              comment: '',
              created_at: '2026-02-01T00:00:00.000Z',
            },
            {
              id: 3,
              reviewer_name: 'Ed',
              rating: 5,
              comment: 'Right.',
              created_at: '2026-01-15T00:00:00.000Z',
            },
            {
              id: 1,
              reviewer_name: 'Cy',
              rating: 4,
              comment: 'Fine.',
              created_at: '2026-01-01T00:00:00.000Z',
            },
          ],
        },
      },
    },
    {
      name: 'can be cached publicly, with revalidation',
      request: ['GET', `/apps/${apps.approved}`],
      status: 200,
      headers: { 'Cache-Control': 'public, no-cache', Vary: 'Authorization, Accept-Encoding' },
    },
    {
      name: 'is private with a key',
      request: ['GET', `/apps/${apps.approved}`, { key: keys.bob }],
      status: 200,
      headers: { 'Cache-Control': 'private, no-cache', Vary: 'Authorization, Accept-Encoding' },
    },
    {
      name: 'shows a pending app to its owner',
      request: ['GET', `/apps/${apps.pending}`, { key: keys.ada }],
      status: 200,
      data: { app: expect.objectContaining({ status: 'pending' }) },
    },
    {
      name: 'shows a rejected app to its owner, with the reason',
      request: ['GET', `/apps/${apps.rejected}`, { key: keys.ada }],
      status: 200,
      data: {
        app: expect.objectContaining({ status: 'rejected', rejection_reason: 'It points south.' }),
      },
    },
    {
      name: 'hides a pending app from everyone',
      request: ['GET', `/apps/${apps.pending}`],
      status: 404,
      code: 'not_found',
    },
    {
      name: 'hides a pending app from other developers',
      request: ['GET', `/apps/${apps.pending}`, { key: keys.bob }],
      status: 404,
    },
    {
      name: 'hides a rejected app from everyone',
      request: ['GET', `/apps/${apps.rejected}`],
      status: 404,
    },
    {
      name: 'hides a deleted app from its owner',
      request: ['GET', `/apps/${apps.deleted}`, { key: keys.ada }],
      status: 404,
    },
    {
      name: 'does not find an id that was never assigned',
      request: ['GET', '/apps/999'],
      status: 404,
    },
    {
      name: 'answers If-None-Match: * with 304',
      request: ['GET', `/apps/${apps.approved}`, { headers: { 'If-None-Match': '*' } }],
      status: 304,
    },
    {
      name: 'answers HEAD with the headers of GET',
      request: ['HEAD', `/apps/${apps.approved}`],
      status: 200,
      headers: { 'Content-Length': /^\d{3}$/ },
    },
    {
      name: 'refuses id 0',
      request: ['GET', '/apps/0'],
      status: 400,
      code: 'invalid_request',
      problems: ['path id'],
    },
    {
      name: 'refuses an id that is not a number',
      request: ['GET', '/apps/abc'],
      status: 400,
      problems: ['path id'],
    },
    {
      name: 'refuses a hexadecimal id',
      request: ['GET', '/apps/0x1'],
      status: 400,
      problems: ['path id'],
    },
    {
      name: 'refuses an id with a slash in it',
      request: ['GET', '/apps/1%2F2'],
      status: 400,
      problems: ['path id'],
    },
    {
      name: 'refuses an id above the largest safe integer',
      request: ['GET', '/apps/9007199254740992'],
      status: 400,
      problems: ['path id'],
    },
    {
      name: 'refuses a path that cannot be decoded',
      request: ['GET', '/apps/%'],
      status: 400,
      problems: ['path id'],
    },
    {
      name: 'names a parameter of the path and one of the query that has its name',
      request: ['GET', '/apps/0?id=1'],
      status: 400,
      code: 'invalid_request',
      problems: ['path id', 'query id'],
    },
    {
      name: 'reports parameters together with a path that cannot be decoded',
      request: ['GET', '/apps/%ff?full=1'],
      status: 400,
      problems: ['path id', 'query full'],
    },
    {
      name: 'refuses an unknown parameter',
      request: ['GET', `/apps/${apps.approved}?full=1`],
      status: 400,
      problems: ['query full'],
    },
    {
      name: 'refuses to answer in HTML',
      request: ['GET', `/apps/${apps.approved}`, { headers: { Accept: 'text/html' } }],
      status: 406,
    },
    {
      name: 'refuses a bad key on a read',
      request: ['GET', `/apps/${apps.approved}`, { key: 'nope' }],
      status: 401,
    },
  ],

  createApp: ({ apps, keys, categories }) => [
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
      name: 'takes every field',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          json: {
            ...newApp,
            short_description: 'Stars',
            version: '2.0',
            package_name: 'org.example.stars',
          },
        },
      ],
      status: 201,
    },
    {
      name: 'takes an empty short description',
      request: createWith(keys, { short_description: '' }),
      status: 201,
    },
    {
      name: 'numbers the slug of a name that is taken',
      request: ['POST', '/apps', { key: keys.bob, json: { ...newApp, name: 'Tide Clock' } }],
      status: 201,
      data: expect.objectContaining({ slug: 'tide-clock-2' }),
    },
    {
      name: 'does not give the slug of a deleted app again',
      request: ['POST', '/apps', { key: keys.bob, json: { ...newApp, name: 'Gone' } }],
      status: 201,
      data: expect.objectContaining({ slug: 'gone-2' }),
    },
    {
      name: 'makes a slug of any script',
      request: createWith(keys, { name: 'Приложение' }),
      status: 201,
      data: expect.objectContaining({ slug: 'prilozhenie' }),
    },
    {
      name: 'makes a slug for a name without letters and digits',
      request: createWith(keys, { name: '!?' }),
      status: 201,
      data: expect.objectContaining({ slug: 'app' }),
    },
    {
      name: 'counts lengths in code points',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          json: { ...newApp, name: '🎲'.repeat(100), description: `${'字'.repeat(19_999)} ` },
        },
      ],
      status: 201,
    },
    {
      name: 'takes line breaks and tabs in a description',
      request: createWith(keys, { description: 'a\r\nb\n\tc' }),
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
        'WWW-Authenticate':
          /^Bearer realm="apps", error="invalid_token", error_description="[^"]+"$/,
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
      request: [
        'POST',
        '/apps',
        { headers: { Authorization: `bearer ${keys.ada}` }, json: newApp },
      ],
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
      name: 'checks the key before the body',
      request: ['POST', '/apps', { headers: jsonType, body: '{' }],
      status: 401,
    },
    {
      name: 'checks the key before the size of the body',
      request: ['POST', '/apps', { headers: jsonType, body: 'x'.repeat(300_000) }],
      status: 401,
    },
    {
      name: 'refuses bad JSON',
      request: ['POST', '/apps', { key: keys.ada, headers: jsonType, body: '{"name": "Star' }],
      status: 400,
      code: 'malformed_json',
      message: /^The body is not valid JSON: it ends too early, at line 1, column 15\.$/,
    },
    {
      name: 'refuses bytes that are not UTF-8',
      request: [
        'POST',
        '/apps',
        { key: keys.ada, headers: jsonType, body: Buffer.from('7b226e616d65223a22ff227d', 'hex') },
      ],
      status: 400,
      code: 'malformed_json',
    },
    {
      name: 'refuses a missing body',
      request: ['POST', '/apps', { key: keys.ada }],
      status: 400,
      code: 'invalid_request',
      problems: ['body '],
    },
    {
      name: 'reports parameters together with a missing body',
      request: ['POST', '/apps?draft=1', { key: keys.ada }],
      status: 400,
      problems: ['query draft', 'body '],
    },
    {
      name: 'refuses a repeated field',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: jsonType,
          body: '{"name":"A","description":"{\\"name\\":1}","category_id":1,"name":"B"}',
        },
      ],
      status: 400,
      code: 'malformed_json',
      problems: ['body /name'],
      message: /^The body repeats a field at line 1, column 58; see data\.errors\.$/,
    },
    {
      name: 'refuses a repeated field, however it is escaped',
      request: [
        'POST',
        '/apps',
        { key: keys.ada, headers: jsonType, body: '{"name\\u0085":1,"name\u0085":2}' },
      ],
      status: 400,
      code: 'malformed_json',
      problems: ['body /name\u0085'],
    },
    {
      name: 'shortens the long name of a field in a problem',
      request: [
        'POST',
        '/apps',
        { key: keys.ada, headers: jsonType, body: `{"${'x'.repeat(300)}":"\\ud83d"}` },
      ],
      status: 400,
      problems: [
        `body /${'x'.repeat(199)}`,
        'body /name',
        'body /description',
        'body /category_id',
      ],
    },
    {
      name: 'treats an empty chunked body as missing',
      request: [
        'POST',
        '/apps',
        { key: keys.ada, headers: { ...jsonType, 'Transfer-Encoding': 'chunked' }, body: '' },
      ],
      status: 400,
      code: 'invalid_request',
      problems: ['body '],
    },
    {
      name: 'checks the charset before the size of the body',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: { 'Content-Type': 'application/json; charset=utf-16' },
          body: 'a'.repeat(300_000),
        },
      ],
      status: 415,
    },
    {
      name: 'refuses a body that is nested too deeply',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: jsonType,
          body: `{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
        },
      ],
      status: 400,
    },
    {
      name: 'refuses a body that is an array',
      request: ['POST', '/apps', { key: keys.ada, json: [newApp] }],
      status: 400,
      problems: ['body '],
    },
    {
      name: 'refuses a body that is null',
      request: ['POST', '/apps', { key: keys.ada, json: null }],
      status: 400,
      problems: ['body '],
    },
    {
      name: 'refuses a body that is text',
      request: ['POST', '/apps', { key: keys.ada, json: 'x' }],
      status: 400,
      problems: ['body '],
    },
    {
      name: 'reports every missing field',
      request: ['POST', '/apps', { key: keys.ada, json: {} }],
      status: 400,
      problems: ['body /name', 'body /description', 'body /category_id'],
    },
    {
      name: 'reports every field of a wrong type',
      request: [
        'POST',
        '/apps',
        { key: keys.ada, json: { name: 1, description: [], category_id: '1', version: null } },
      ],
      status: 400,
      problems: ['body /name', 'body /description', 'body /category_id', 'body /version'],
    },
    {
      name: 'refuses an unknown field',
      request: createWith(keys, { colour: 'red' }),
      status: 400,
      problems: ['body /colour'],
    },
    {
      name: 'refuses a field named __proto__',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: jsonType,
          body: '{"name":"A","description":"B","category_id":1,"__proto__":{}}',
        },
      ],
      status: 400,
      problems: ['body /__proto__'],
    },
    {
      name: 'does not let an owner set the status',
      request: createWith(keys, { status: 'approved' }),
      status: 400,
      problems: ['body /status'],
    },
    {
      name: 'does not let an owner set downloads, rating and slug',
      request: createWith(keys, { total_downloads: 9, average_rating: 5, slug: 'x' }),
      status: 400,
      problems: ['body /total_downloads', 'body /average_rating', 'body /slug'],
    },
    {
      name: 'refuses a name of white space',
      request: createWith(keys, { name: ' \t ' }),
      status: 400,
      problems: ['body /name'],
    },
    {
      name: 'refuses a name over 100 characters',
      request: createWith(keys, { name: 'a'.repeat(101) }),
      status: 400,
      problems: ['body /name'],
    },
    {
      name: 'refuses a name with a line break',
      request: createWith(keys, { name: 'Star\nMap' }),
      status: 400,
      problems: ['body /name'],
    },
    {
      name: 'refuses a NUL in a description',
      request: createWith(keys, { description: 'a\u0000b' }),
      status: 400,
      problems: ['body /description'],
    },
    {
      name: 'refuses a lone surrogate',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: jsonType,
          body: '{"name":"A\\ud83d","description":"B","category_id":1}',
        },
      ],
      status: 400,
      problems: ['body /name'],
    },
    {
      name: 'refuses a description over 20,000 characters',
      request: createWith(keys, { description: 'a'.repeat(20_001) }),
      status: 400,
      problems: ['body /description'],
    },
    {
      name: 'refuses a short description over 200 characters',
      request: createWith(keys, { short_description: 'a'.repeat(201) }),
      status: 400,
      problems: ['body /short_description'],
    },
    {
      name: 'refuses a short description with a line break',
      request: createWith(keys, { short_description: 'Two\nlines' }),
      status: 400,
      problems: ['body /short_description'],
    },
    {
      name: 'accepts a version with inner spaces',
      request: createWith(keys, { version: 'Varies with device' }),
      status: 201,
    },
    {
      name: 'refuses a no-break space at the end of a version',
      request: createWith(keys, { version: '1.0\u00a0' }),
      status: 400,
      problems: ['body /version'],
    },
    {
      name: 'refuses spaces around a package name',
      request: createWith(keys, { package_name: ' a.b.c ' }),
      status: 400,
      problems: ['body /package_name'],
    },
    {
      name: 'counts white space around a name before removing it',
      request: createWith(keys, { name: ` ${'a'.repeat(100)}` }),
      status: 400,
      problems: ['body /name'],
    },
    {
      name: 'refuses a version with a line break',
      request: createWith(keys, { version: '1.0\nbeta' }),
      status: 400,
      problems: ['body /version'],
      message: /1 problem/,
    },
    {
      name: 'says in one sentence what is wrong with texts of white space',
      request: createWith(keys, { name: ' ', description: ' \n', version: ' ' }),
      status: 400,
      data: {
        code: 'invalid_request',
        errors: ['/name', '/description', '/version'].map((field) => ({
          in: 'body',
          field,
          message: 'must have a visible character',
        })),
      },
    },
    {
      name: 'refuses invisible names and versions',
      request: createWith(keys, { name: '\u200b', version: '\u3164' }),
      status: 400,
      problems: ['body /name', 'body /version'],
    },
    {
      name: 'refuses a bidirectional control in a name',
      request: createWith(keys, { name: 'a\u202eb' }),
      status: 400,
      data: {
        code: 'invalid_request',
        errors: [
          {
            in: 'body',
            field: '/name',
            message: 'must not have the character U+202E (right-to-left override)',
          },
        ],
      },
    },
    {
      name: 'refuses bidirectional controls in descriptions',
      request: createWith(keys, { description: 'a\u202eb', short_description: '\u2066a' }),
      status: 400,
      problems: ['body /description', 'body /short_description'],
    },
    {
      name: 'refuses an invisible description',
      request: createWith(keys, { description: '\u200b\n\u2060' }),
      status: 400,
      problems: ['body /description'],
    },
    {
      name: 'refuses tag characters, which hide text, in any field',
      request: createWith(keys, { name: 'Star\u{e0041}', description: 'a\u{e0062}\u{e007f}' }),
      status: 400,
      data: {
        code: 'invalid_request',
        errors: [
          { in: 'body', field: '/name', message: 'must not have the character U+E0041 (tag)' },
          {
            in: 'body',
            field: '/description',
            message: 'must not have the character U+E0062 (tag)',
          },
        ],
      },
    },
    {
      name: 'refuses a variation selector that selects nothing',
      request: createWith(keys, { name: '\u{e0100}' }),
      status: 400,
      problems: ['body /name'],
    },
    {
      name: 'accepts the invisible characters that emoji, flags and scripts need',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          json: {
            ...newApp,
            name: '👩\u200d🔬❤\ufe0f 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 葛\u{e0100}',
            version: 'می\u200cخواهم क\u094d\u200dष',
            description: 'ភាសា\u200bខ្មែរ, C++\u200f: \u00ad',
          },
        },
      ],
      status: 201,
    },
    {
      name: 'refuses an empty version',
      request: createWith(keys, { version: '' }),
      status: 400,
      problems: ['body /version'],
    },
    {
      name: 'refuses a version over 50 characters',
      request: createWith(keys, { version: '1'.repeat(51) }),
      status: 400,
      problems: ['body /version'],
    },
    {
      name: 'refuses a package name of two parts',
      request: createWith(keys, { package_name: 'example.stars' }),
      status: 400,
      problems: ['body /package_name'],
    },
    {
      name: 'refuses a package name whose part begins with a digit',
      request: createWith(keys, { package_name: 'org.example.2048' }),
      status: 400,
      problems: ['body /package_name'],
    },
    {
      name: 'takes a package name of 255 characters, with digits, hyphens and underscores',
      request: createWith(keys, { package_name: `a-1.b_2.${'c'.repeat(247)}` }),
      status: 201,
    },
    {
      name: 'refuses a package name of 256 characters',
      request: createWith(keys, { package_name: `a.b.${'c'.repeat(252)}` }),
      status: 400,
      problems: ['body /package_name'],
    },
    {
      name: 'reports a taken package name before an unknown category',
      request: createWith(keys, { package_name: 'org.example.tideclock', category_id: 999 }),
      status: 409,
      code: 'package_name_taken',
    },
    {
      name: 'refuses a package name that is taken, whatever its case',
      request: [
        'POST',
        '/apps',
        { key: keys.bob, json: { ...newApp, package_name: 'ORG.example.TideClock' } },
      ],
      status: 409,
      code: 'package_name_taken',
      message: /^The package name ORG\.example\.TideClock is taken; choose another\.$/,
    },
    {
      name: 'refuses the package name of a deleted app',
      request: [
        'POST',
        '/apps',
        { key: keys.bob, json: { ...newApp, package_name: 'org.example.gone' } },
      ],
      status: 409,
      message: /^The package name org\.example\.gone is taken; choose another\.$/,
    },
    {
      name: "says that one's own app has the package name",
      request: createWith(keys, { package_name: 'org.example.tideclock' }),
      status: 409,
      message: new RegExp(
        `^The package name org\\.example\\.tideclock is taken by your app ${apps.approved}; update that app, or choose another name\\.$`,
      ),
    },
    {
      name: "says that one's own deleted app has the package name, and that an operator can restore it",
      request: createWith(keys, { package_name: 'org.example.gone' }),
      status: 409,
      message: new RegExp(
        `^The package name org\\.example\\.gone is taken by your deleted app ${apps.deleted}; ask the operators to restore it \\(app restore ${apps.deleted}\\), or choose another name\\.$`,
      ),
    },
    {
      name: 'refuses an unknown category and lists the existing ones',
      request: createWith(keys, { category_id: 99 }),
      status: 422,
      code: 'unknown_category',
      data: {
        code: 'unknown_category',
        errors: [expect.objectContaining({ field: '/category_id' })],
        categories: [
          { id: categories.empty, slug: 'empty', name: 'Empty' },
          { id: categories.games, slug: 'games', name: 'Games' },
          { id: categories.tools, slug: 'tools', name: 'Tools' },
        ],
      },
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
      name: 'refuses category 0',
      request: createWith(keys, { category_id: 0 }),
      status: 400,
      problems: ['body /category_id'],
    },
    {
      name: 'refuses a fractional category',
      request: createWith(keys, { category_id: 1.5 }),
      status: 400,
      problems: ['body /category_id'],
    },
    {
      name: 'refuses text/plain',
      request: [
        'POST',
        '/apps',
        { key: keys.ada, headers: { 'Content-Type': 'text/plain' }, body: JSON.stringify(newApp) },
      ],
      status: 415,
      code: 'unsupported_media_type',
    },
    {
      name: 'refuses a form',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
          body: 'name=A',
        },
      ],
      status: 415,
    },
    {
      name: 'refuses JSON in another charset',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: { 'Content-Type': 'application/json; charset=utf-16' },
          body: JSON.stringify(newApp),
        },
      ],
      status: 415,
    },
    {
      name: 'refuses JSON in another charset, despite white space around its name',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: { 'Content-Type': 'application/json; charset = utf-16le' },
          body: Buffer.from(JSON.stringify(newApp), 'utf16le'),
        },
      ],
      status: 415,
    },
    {
      name: 'refuses a content encoding',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: { ...jsonType, 'Content-Encoding': 'gzip' },
          body: JSON.stringify(newApp),
        },
      ],
      status: 415,
      message: /^The Content-Encoding is not supported; send the body uncompressed\.$/,
    },
    {
      name: 'takes a charset of UTF-8',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: { 'Content-Type': 'application/json; charset=UTF-8' },
          body: JSON.stringify(newApp),
        },
      ],
      status: 201,
    },
    {
      name: 'takes another label of UTF-8',
      request: [
        'POST',
        '/apps',
        {
          key: keys.ada,
          headers: { 'Content-Type': 'application/json; charset=utf8' },
          body: JSON.stringify(newApp),
        },
      ],
      status: 201,
    },
    {
      name: 'refuses a body of 300 KB',
      request: createWith(keys, { description: 'a'.repeat(300_000) }),
      status: 413,
      code: 'payload_too_large',
    },
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
  ],

  updateApp: ({ apps, keys }) => [
    {
      name: 'changes the fields that are sent and keeps the others',
      request: ['PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { name: 'Tide Watch' } }],
      status: 200,
      data: {
        app: expect.objectContaining({
          name: 'Tide Watch',
          slug: 'tide-clock',
          description: 'Tide Clock is here.',
          short_description: 'High and low water',
          status: 'approved',
          review_count: 3,
        }),
      },
    },
    {
      name: 'leaves a pending app pending',
      request: ['PUT', `/apps/${apps.pending}`, { key: keys.ada, json: { version: '2' } }],
      status: 200,
      data: { app: expect.objectContaining({ status: 'pending', version: '2' }) },
    },
    {
      name: 'makes a rejected app pending again, without the reason',
      request: [
        'PUT',
        `/apps/${apps.rejected}`,
        { key: keys.ada, json: { description: 'It points north.' } },
      ],
      status: 200,
      data: { app: expect.objectContaining({ status: 'pending' }) },
      without: /rejection_reason/,
    },
    {
      name: 'removes a short description',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { short_description: '' } },
      ],
      status: 200,
      without: /short_description/,
    },
    {
      name: 'moves an app to another category',
      request: ['PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { category_id: 2 } }],
      status: 200,
      data: { app: expect.objectContaining({ category_slug: 'games', category_name: 'Games' }) },
    },
    {
      name: 'lets an app keep its own package name in another case',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { package_name: 'org.example.TideClock' } },
      ],
      status: 200,
      data: { app: expect.objectContaining({ package_name: 'org.example.TideClock' }) },
    },
    {
      name: 'refuses a package name that is taken',
      request: [
        'PUT',
        `/apps/${apps.pending}`,
        { key: keys.ada, json: { package_name: 'ORG.EXAMPLE.TIDECLOCK' } },
      ],
      status: 409,
      code: 'package_name_taken',
      problems: ['body /package_name'],
    },
    {
      name: 'refuses an unknown category',
      request: ['PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { category_id: 99 } }],
      status: 422,
      code: 'unknown_category',
    },
    {
      name: 'refuses an empty body',
      request: ['PUT', `/apps/${apps.approved}`, { key: keys.ada, json: {} }],
      status: 400,
      problems: ['body '],
    },
    {
      name: 'refuses an empty name',
      request: ['PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { name: '' } }],
      status: 400,
      problems: ['body /name'],
    },
    {
      name: 'refuses an empty package name',
      request: ['PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { package_name: '' } }],
      status: 400,
      problems: ['body /package_name'],
    },
    {
      name: 'refuses null for a field',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { short_description: null } },
      ],
      status: 400,
      problems: ['body /short_description'],
    },
    {
      name: 'does not let an owner set the status',
      request: ['PUT', `/apps/${apps.pending}`, { key: keys.ada, json: { status: 'approved' } }],
      status: 400,
      problems: ['body /status'],
    },
    {
      name: 'refuses bad JSON',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, headers: jsonType, body: 'nope' },
      ],
      status: 400,
      code: 'malformed_json',
    },
    {
      name: 'refuses a bad id before looking for an app',
      request: ['PUT', '/apps/abc', { key: keys.ada, json: { name: 'A' } }],
      status: 400,
      problems: ['path id'],
    },
    {
      name: 'reports problems of id and body together',
      request: ['PUT', '/apps/0x1', { key: keys.ada, json: { name: 1 } }],
      status: 400,
      problems: ['path id', 'body /name'],
    },
    {
      name: 'refuses a request without a key',
      request: ['PUT', `/apps/${apps.approved}`, { json: { name: 'A' } }],
      status: 401,
    },
    {
      name: "refuses somebody else's visible app",
      request: ['PUT', `/apps/${apps.bobs}`, { key: keys.ada, json: { name: 'A' } }],
      status: 403,
      code: 'forbidden',
    },
    {
      name: "hides somebody else's pending app",
      request: ['PUT', `/apps/${apps.bobsPending}`, { key: keys.ada, json: { name: 'A' } }],
      status: 404,
      code: 'not_found',
    },
    {
      name: 'hides a deleted app',
      request: ['PUT', `/apps/${apps.deleted}`, { key: keys.ada, json: { name: 'A' } }],
      status: 404,
    },
    {
      name: 'refuses a stale If-Match',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        {
          key: keys.ada,
          json: { name: 'A' },
          headers: { 'If-Match': '"000000000000000000000000000"' },
        },
      ],
      status: 412,
      code: 'precondition_failed',
      message: /^The app has changed since you read it; read it again and repeat the change\.$/,
    },
    {
      name: 'refuses a weak If-Match, and says how to get a strong one',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { name: 'A' }, headers: { 'If-Match': 'W/"a"' } },
      ],
      status: 412,
      message:
        /^If-Match cannot match a weak ETag \(W\/\)\. Read the app with Accept-Encoding: identity/,
    },
    {
      name: 'accepts * in If-Match only by itself',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { name: 'A' }, headers: { 'If-Match': '*, "a"' } },
      ],
      status: 412,
    },
    {
      name: 'accepts If-Match: *',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { name: 'A' }, headers: { 'If-Match': '*' } },
      ],
      status: 200,
    },
    {
      name: 'refuses a body of 300 KB',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { description: 'a'.repeat(300_000) } },
      ],
      status: 413,
    },
    {
      name: 'refuses text/plain',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, headers: { 'Content-Type': 'text/plain' }, body: '{}' },
      ],
      status: 415,
    },
    {
      name: 'refuses to answer in XML',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.ada, json: { name: 'A' }, headers: { Accept: 'text/xml' } },
      ],
      status: 406,
    },
  ],

  deleteApp: ({ apps, keys }) => [
    {
      name: 'deletes an app',
      request: ['DELETE', `/apps/${apps.approved}`, { key: keys.ada }],
      status: 200,
      data: { app_id: apps.approved },
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
  ],

  'paths and methods': ({ apps, keys }) => [
    {
      name: 'answers 404 for an unknown path',
      request: ['GET', '/nowhere'],
      status: 404,
      code: 'not_found',
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
      headers: { Allow: 'GET, HEAD, POST, OPTIONS' },
    },
    {
      name: 'answers 405 for POST to an app',
      request: ['POST', `/apps/${apps.approved}`, { key: keys.ada, json: newApp }],
      status: 405,
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
  ],
}
