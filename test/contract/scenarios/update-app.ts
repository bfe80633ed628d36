import { expect } from 'vitest'
import { emptyFields } from '../../support/whole-app.ts'
import type { Call } from '../valid-requests.ts'
import { jsonType, type Table } from './scenario.ts'

export const updateApp: Table = ({ apps, keys }) => {
  const update = (id: number, json: object, headers: Record<string, string> = {}): Call => [
    'PUT',
    `/apps/${id}`,
    { key: keys.ada, json, headers },
  ]
  return [
    {
      name: 'takes a key for this app',
      request: ['PUT', `/apps/${apps.pending}`, { key: keys.oneApp, json: { version: '2' } }],
      status: 200,
      data: { app: expect.objectContaining({ version: '2' }) },
    },
    {
      name: 'refuses a key for another app, whatever the body',
      request: [
        'PUT',
        `/apps/${apps.approved}`,
        { key: keys.oneApp, headers: jsonType, body: '{' },
      ],
      status: 403,
      code: 'forbidden',
      message: new RegExp(`only for updating or deleting app ${apps.pending};`),
    },
    {
      name: 'refuses a read-only key',
      request: ['PUT', `/apps/${apps.pending}`, { key: keys.readOnly, json: { version: '2' } }],
      status: 403,
      code: 'forbidden',
      message: /only for reading;/,
    },
    {
      name: 'changes the fields that are sent and keeps the others',
      request: update(apps.approved, { name: 'Tide Watch' }),
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
      request: update(apps.pending, { version: '2' }),
      status: 200,
      data: { app: expect.objectContaining({ status: 'pending', version: '2' }) },
    },
    {
      name: 'makes a rejected app pending again, without the reason',
      request: update(apps.rejected, { description: 'It points north.' }),
      status: 200,
      data: { app: expect.objectContaining({ status: 'pending' }) },
      without: /rejection_reason/,
    },
    {
      name: 'removes each field that an app can be without',
      request: update(apps.approved, { ...emptyFields, license: ' ' }),
      status: 200,
      without: new RegExp(Object.keys(emptyFields).join('|')),
    },
    {
      name: 'changes one address, keeps the other as it was sent, and lists neither',
      request: update(apps.approved, { website_url: 'https://BÜCHER.example:8443/%7Ea?b=ü#c' }),
      status: 200,
      data: {
        app: expect.objectContaining({
          website_url: 'https://BÜCHER.example:8443/%7Ea?b=ü#c',
          source_code_url: 'https://code.example.org/tide-clock',
          status: 'approved',
        }),
      },
    },
    {
      name: 'moves an app to another category',
      request: update(apps.approved, { category_id: 2 }),
      status: 200,
      data: { app: expect.objectContaining({ category_slug: 'games', category_name: 'Games' }) },
    },
    {
      name: 'lets an app keep its own package name in another case',
      request: update(apps.approved, { package_name: 'org.example.TideClock' }),
      status: 200,
      data: { app: expect.objectContaining({ package_name: 'org.example.TideClock' }) },
    },
    {
      name: 'refuses a package name that is taken, and says that the own app has it',
      request: update(apps.pending, { package_name: 'ORG.EXAMPLE.TIDECLOCK' }),
      status: 409,
      code: 'package_name_taken',
      problems: ['body /package_name'],
      data: expect.objectContaining({ app_id: apps.approved }),
    },
    {
      name: "refuses a package name that somebody else's app has, without its id",
      request: [
        'PUT',
        `/apps/${apps.bobs}`,
        { key: keys.bob, json: { package_name: 'org.example.tideclock' } },
      ],
      status: 409,
      without: /"app_id"/,
    },
    {
      name: 'refuses an unknown category',
      request: update(apps.approved, { category_id: 99 }),
      status: 422,
      code: 'unknown_category',
    },
    {
      name: 'refuses an empty body',
      request: update(apps.approved, {}),
      status: 400,
      problems: ['body '],
    },
    {
      name: 'refuses an empty name',
      request: update(apps.approved, { name: '' }),
      status: 400,
      problems: ['body /name'],
    },
    {
      name: 'removes a package name',
      request: update(apps.approved, { package_name: '' }),
      status: 200,
      without: /package_name/,
    },
    {
      name: "takes the package name of one's own deleted app",
      request: update(apps.pending, { package_name: 'org.example.Gone' }),
      status: 200,
      data: { app: expect.objectContaining({ package_name: 'org.example.Gone' }) },
    },
    {
      name: "refuses the package name of somebody else's deleted app",
      request: [
        'PUT',
        `/apps/${apps.bobs}`,
        { key: keys.bob, json: { package_name: 'org.example.gone' } },
      ],
      status: 409,
      message: /^The package name org\.example\.gone is taken by another app; /,
    },
    {
      name: 'refuses null for a field',
      request: update(apps.approved, { short_description: null }),
      status: 400,
      problems: ['body /short_description'],
    },
    {
      name: 'does not let an owner set the status',
      request: update(apps.pending, { status: 'approved' }),
      status: 400,
      problems: ['body '],
      message: /^The body .*: status\.$/,
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
      request: update(apps.bobs, { name: 'A' }),
      status: 403,
      code: 'forbidden',
    },
    {
      name: "hides somebody else's pending app",
      request: update(apps.bobsPending, { name: 'A' }),
      status: 404,
      code: 'not_found',
    },
    {
      name: 'hides a deleted app',
      request: update(apps.deleted, { name: 'A' }),
      status: 404,
    },
    {
      name: 'refuses a stale If-Match',
      request: update(
        apps.approved,
        { name: 'A' },
        { 'If-Match': '"000000000000000000000000000"' },
      ),
      status: 412,
      code: 'precondition_failed',
      message: /^The app has changed since you read it; read it again and repeat the change\.$/,
    },
    {
      name: 'refuses a weak If-Match, and says how to get a strong one',
      request: update(apps.approved, { name: 'A' }, { 'If-Match': 'W/"a"' }),
      status: 412,
      message:
        /^If-Match cannot match a weak ETag \(W\/\)\. Read the app with Accept-Encoding: identity/,
    },
    {
      name: 'accepts * in If-Match only by itself',
      request: update(apps.approved, { name: 'A' }, { 'If-Match': '*, "a"' }),
      status: 412,
    },
    {
      name: 'accepts If-Match: *',
      request: update(apps.approved, { name: 'A' }, { 'If-Match': '*' }),
      status: 200,
    },
    {
      name: 'refuses a body of 300 KB',
      request: update(apps.approved, { description: 'a'.repeat(300_000) }),
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
      request: update(apps.approved, { name: 'A' }, { Accept: 'text/xml' }),
      status: 406,
    },
  ]
}
