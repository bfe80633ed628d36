import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startService } from '../support/service.ts'

/** Text of every kind: words, symbols, controls, lone surrogates, FTS5's and SQL's own characters, long and short. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 120 }),
  fc.string({ unit: 'grapheme', maxLength: 120 }),
  fc.string({
    unit: fc.constantFrom(
      '"',
      "'",
      '*',
      '(',
      ')',
      ':',
      '^',
      '-',
      '+',
      ' ',
      'AND',
      'NOT',
      'NEAR',
      '{',
      '}',
      '\\',
      '%',
      '_',
      ';',
      '--',
      'a',
      '日',
    ),
    maxLength: 30,
  }),
  fc.constantFrom(
    '',
    ' ',
    '0',
    '-1',
    '1e3',
    '0x10',
    'null',
    'true',
    '[]',
    '{}',
    '__proto__',
    'constructor',
    '\u0000',
    '\ud800',
    '🎲'.repeat(100),
  ),
)
const anything = fc.oneof(
  text,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.array(text, { maxLength: 3 }),
  fc.dictionary(text, text, { maxKeys: 3 }),
)
const runs = { numRuns: 150 }

test('any text in any query parameter is answered with a declared status below 500', async () => {
  const service = await startService()
  const name = fc.oneof(fc.constantFrom('page', 'limit', 'category', 'search', 'sort'), text)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, text), { maxLength: 4 }), async (pairs) => {
      const query = new URLSearchParams(pairs.map(([key, value]): [string, string] => [key, value.toWellFormed()]))
      expect((await service.get(`/apps?${query}`)).status).toBeLessThan(500)
    }),
    runs,
  )
})

test('any search is safe, and finds an app by any word of its name', async () => {
  const service = await startService()
  await fc.assert(
    fc.asyncProperty(text, async (search) => {
      const cut = [...search.toWellFormed()].slice(0, 100).join('')
      expect((await service.get(`/apps?${new URLSearchParams({ search: cut })}`)).status).toBe(200)
    }),
    runs,
  )
})

test('any raw query string is answered with a declared status below 500', async () => {
  const service = await startService()
  const raw = fc.string({
    unit: fc.constantFrom('%', '&', '=', '+', '[', ']', '?', 'page', 'search', '%ff', '%00', '%e6%97', '1', ';'),
    maxLength: 20,
  })
  await fc.assert(
    fc.asyncProperty(raw, async (query) => {
      expect((await service.get(`/apps?${query}`)).status).toBeLessThan(500)
    }),
    runs,
  )
})

test('any text as an id is answered with a declared status below 500', async () => {
  const service = await startService()
  const { keys } = service.world
  await fc.assert(
    fc.asyncProperty(text, fc.constantFrom('GET', 'PUT', 'DELETE'), async (id, method) => {
      const path = `/apps/${encodeURIComponent(id.toWellFormed()).replaceAll('.', '%2E') || '0'}`
      const reply = await service.request(method, path, {
        key: keys.bob,
        ...(method === 'PUT' && { json: { name: 'A' } }),
      })
      expect(reply.status).toBeLessThan(500)
    }),
    runs,
  )
})

test('any header text is answered with a declared status below 500', async () => {
  const service = await startService()
  const { apps, keys } = service.world
  const header = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    maxLength: 200,
  })
  const name = fc.constantFrom(
    'If-Match',
    'If-None-Match',
    'Authorization',
    'Accept',
    'X-Request-Id',
    'Content-Type',
    'Content-Encoding',
  )
  await fc.assert(
    fc.asyncProperty(name, header, fc.constantFrom('GET', 'PUT'), async (key, value, method) => {
      const options = {
        headers: { Authorization: `Bearer ${keys.ada}`, 'Content-Type': 'application/json', [key]: value },
      }
      const body = method === 'PUT' ? { body: '{"version":"2"}' } : {}
      const reply = await service.request(method, `/apps/${apps.approved}`, { ...options, ...body })
      expect(reply.status).toBeLessThan(500)
    }),
    runs,
  )
})

test('any body is answered with a declared status below 500', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  const fields = fc.record(
    {
      name: anything,
      description: anything,
      category_id: anything,
      short_description: anything,
      version: anything,
      package_name: anything,
    },
    { requiredKeys: [] },
  )
  const body = fc.oneof(fields, anything, fc.dictionary(text, anything, { maxKeys: 4 }))
  await fc.assert(
    fc.asyncProperty(body, fc.boolean(), async (json, isUpdate) => {
      const [method, path] = isUpdate ? ['PUT', `/apps/${apps.approved}`] : ['POST', '/apps']
      expect((await service.request(method, path, { key: keys.ada, json })).status).toBeLessThan(500)
    }),
    runs,
  )
})

test('what was stored is read back unchanged', async () => {
  const service = await startService()
  const { keys } = service.world
  const valid = (pattern: RegExp, maxLength: number) =>
    fc
      .string({ unit: 'binary', minLength: 1, maxLength })
      .filter((value) => value.trim() !== '' && pattern.test(value.trim()))
  // The forms of the document, written once more: what it allows must be taken.
  const line = /^[^\p{Cc}\p{Cs}\u2028\u2029]+$/u
  const app = fc.record(
    {
      name: valid(line, 100),
      description: valid(/^(?:[^\p{Cc}\p{Cs}]|[\t\n\r])+$/u, 200),
      category_id: fc.constantFrom(1, 2, 3),
      short_description: valid(line, 200),
      version: valid(/^[^\s\p{Cc}\p{Cs}]+$/u, 50),
    },
    { requiredKeys: ['name', 'description', 'category_id'] },
  )
  await fc.assert(
    fc.asyncProperty(app, async (json) => {
      const created = await service.request('POST', '/apps', { key: keys.ada, json })
      expect(created.status, created.text).toBe(201)
      const read = await service.get(`/apps/${created.body.data.app_id}`, { key: keys.ada })
      const trimmed = Object.entries(json).map(([key, value]) => [
        key,
        typeof value === 'string' ? value.trim() : value,
      ])
      expect(read.body.data.app).toMatchObject(Object.fromEntries(trimmed))
    }),
    runs,
  )
})
