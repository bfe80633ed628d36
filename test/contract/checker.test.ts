import { describe, expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { type HttpResponse, ResponseChecker } from './checker.ts'
import { describeMissing } from './coverage.ts'

/**
 * Tests the ResponseChecker, which other tests use to compare each response with the OpenAPI
 * document.
 */

/**
 * A correct page of `GET /apps`, without apps. Each test below changes one thing of a correct
 * response.
 */
const page: HttpResponse = {
  method: 'GET',
  path: '/apps',
  status: 200,
  headers: {
    'x-request-id': 'a-1',
    'access-control-allow-origin': '*',
    'cache-control': 'public, no-cache',
    vary: 'Authorization, Accept-Encoding',
    etag: '"8Zt9pYw0q3vQkM1cX5rB7nLd2Hs"',
    link: '<http://apps.test/apps?page=1>; rel="first"',
    'x-total-count': '0',
    'content-type': 'application/json; charset=utf-8',
  },
  text: JSON.stringify({
    success: true,
    message: 'No apps match.',
    data: { apps: [], pagination: { current_page: 1, total_pages: 0, per_page: 20 } },
  }),
}
const app = {
  id: 1,
  name: 'A',
  slug: 'a',
  description: 'A.',
  developer_name: 'Ada',
  category_name: 'Tools',
  total_downloads: 0,
  average_rating: 0,
  version: '1',
  status: 'approved',
  category_id: 1,
  category_slug: 'tools',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  rating_count: 0,
  review_count: 0,
  reviews: [],
}
/** The response to `GET /apps/1`, with changed fields of the app. */
const detail = (change: object): HttpResponse => ({
  ...page,
  path: '/apps/1',
  headers: withHeaders({ link: undefined, 'x-total-count': undefined }),
  text: JSON.stringify({
    success: true,
    message: 'App found.',
    data: { app: { ...app, ...change } },
  }),
})
const unauthorized: HttpResponse = {
  ...page,
  status: 401,
  headers: {
    'x-request-id': 'a-1',
    'access-control-allow-origin': '*',
    'cache-control': 'no-store',
    'www-authenticate': 'Bearer realm="apps"',
    'content-type': 'application/json',
  },
  text: JSON.stringify({ success: false, message: 'No.', data: { code: 'unauthorized' } }),
}
const notFound: HttpResponse = {
  ...unauthorized,
  path: '/nowhere',
  status: 404,
  text: JSON.stringify({ success: false, message: 'No.', data: { code: 'not_found' } }),
}

/** A response to what is no request. */
const bare: HttpResponse = {
  ...page,
  status: 431,
  headers: { connection: 'close' },
  text: '',
}

/** The headers of the page with changes; undefined removes a header. */
function withHeaders(change: Record<string, string | undefined>): HttpResponse['headers'] {
  return Object.fromEntries(
    Object.entries({ ...page.headers, ...change }).filter(([, value]) => value !== undefined),
  )
}

describe('accepts a response that matches the document', () => {
  test.for<[what: string, response: HttpResponse, covers: string[]]>([
    ['a page', page, ['listApps 200']],
    ['a page in answer to HEAD', { ...page, method: 'HEAD', text: '' }, ['listApps 200']],
    ['an app', detail({}), ['getApp 200']],
    ['an error', unauthorized, ['listApps 401']],
    ['an unknown path', notFound, []],
    ...[400, 408, 431, 501, 505].map((status): [string, HttpResponse, string[]] => [
      `a bare ${status} of a closed connection`,
      { ...bare, status },
      [],
    ]),
  ])('%s', ([, response, covers]) => {
    expect(new ResponseChecker().check(response)).toEqual({ problems: [], covers })
  })
})

describe('reports', () => {
  test.for<[what: string, response: HttpResponse, problem: RegExp]>([
    ['an undeclared status', { ...page, status: 418 }, /does not declare this status/],
    ['another bare status', { ...bare, status: 418 }, /does not declare this status/],
    ['a bare 503', { ...bare, status: 503 }, /header X-Request-Id is missing/],
    [
      'a 431 on an open connection',
      { ...bare, headers: { connection: 'keep-alive' } },
      /does not declare this status/,
    ],
    ['a 431 with a body', { ...bare, text: '{}' }, /does not declare this status/],
    [
      'a 431 with a content type',
      { ...bare, headers: { ...bare.headers, 'content-type': 'application/json' } },
      /does not declare this status/,
    ],
    [
      'an undeclared content type',
      { ...page, headers: withHeaders({ 'content-type': 'text/html' }) },
      /text\/html is not declared/,
    ],
    [
      'no content type',
      { ...page, headers: withHeaders({ 'content-type': undefined }) },
      /undefined is not declared/,
    ],
    [
      'a missing required header',
      { ...page, headers: withHeaders({ link: undefined }) },
      /header Link is missing/,
    ],
    [
      'a header that does not match',
      { ...page, headers: withHeaders({ etag: 'W/"1"' }) },
      /header ETag has another form/,
    ],
    [
      'a header declared only elsewhere',
      { ...page, headers: withHeaders({ location: '/apps/1' }) },
      /location is not declared here/,
    ],
    [
      'a header declared nowhere',
      { ...page, headers: withHeaders({ 'set-cookie': 'a=1' }) },
      /set-cookie is not declared here/,
    ],
    ['a body that is not JSON', { ...page, text: '<p>' }, /not JSON/],
    ['a body where none is declared', { ...page, status: 304 }, /where none is declared/],
    ['a body in a response to HEAD', { ...page, method: 'HEAD' }, /in answer to HEAD/],
    ['a field that is not declared', detail({ secret: 1 }), /must NOT have additional properties/],
    ['a missing field', detail({ status: undefined }), /must have required property 'status'/],
    ['a field of the wrong type', detail({ id: '1' }), /\/data\/app\/id must be integer/],
    ['a null', detail({ package_name: null }), /package_name must be string/],
    ['a value out of its bounds', detail({ average_rating: 6 }), /must be <= 5/],
    [
      'an invalid format',
      detail({ created_at: '2026-13-01T00:00:00.000Z' }),
      /must match format "date-time"/,
    ],
    [
      'success: true in an error',
      { ...unauthorized, text: unauthorized.text.replace('false', 'true') },
      /must be equal to one of/,
    ],
    [
      'a code that is not declared',
      { ...unauthorized, text: unauthorized.text.replace('unauthorized', 'oops') },
      /must be equal to one of/,
    ],
    [
      'the code of another status',
      { ...unauthorized, text: unauthorized.text.replace('unauthorized', 'forbidden') },
      /code must be equal to one of/,
    ],
    [
      'the code of another status, for an unknown path',
      { ...notFound, text: notFound.text.replace('not_found', 'forbidden') },
      /code must be equal to one of/,
    ],
    [
      'an error with a field of another',
      { ...unauthorized, text: unauthorized.text.replace('"code"', '"errors":[],"code"') },
      /must NOT have additional properties/,
    ],
    ['an unknown method', { ...page, method: 'PATCH' }, /405 expected/],
    [
      'a 405 with the methods of another path',
      {
        ...unauthorized,
        method: 'PATCH',
        status: 405,
        headers: { ...unauthorized.headers, allow: 'GET, HEAD, OPTIONS' },
      },
      /Allow must be GET, HEAD, POST, OPTIONS/,
    ],
    [
      'OPTIONS without Allow',
      { ...page, method: 'OPTIONS', status: 204, text: '' },
      /Allow must be GET, HEAD, POST, OPTIONS/,
    ],
    [
      'a success for an unknown path',
      { ...notFound, status: 200 },
      /200 for a path that does not exist/,
    ],
    [
      'an error outside the envelope',
      { ...notFound, text: '{"error":"no"}' },
      /must have required property 'success'/,
    ],
    ['a response without a request id', { ...notFound, headers: {} }, /X-Request-Id is missing/],
    [
      'a response without CORS',
      { ...notFound, headers: {} },
      /Access-Control-Allow-Origin is missing/,
    ],
  ])('%s', ([, response, problem]) => {
    expect(new ResponseChecker().check(response).problems.join('\n')).toMatch(problem)
  })

  test('a declared status that no test received', () => {
    // Every pair of operation and status but the one that is added below.
    const seen = new Set(new ResponseChecker().declared())
    const contract = structuredClone(document)
    Object.assign(contract.paths['/apps'].get.responses, { 402: { description: 'Pay first.' } })
    const complaints = new ResponseChecker(contract)
      .declared()
      .map((pair) => describeMissing(pair, seen))
    expect(complaints.filter((complaint) => complaint !== undefined)).toEqual([
      expect.stringMatching(
        /listApps 402, .*\n.* the table listApps in test\/contract\/scenarios\//,
      ),
    ])
  })
})
