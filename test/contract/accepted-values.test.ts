import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { startService } from '../support/service.ts'
import { operations, runProperty, timeout, total } from './fuzz.ts'
import type { Schema } from './operations.ts'
import { validRequests } from './valid-requests.ts'
import { units } from './values.ts'

/**
 * The service accepts every value that a field's schema allows, except those that no pattern can exclude. The field's
 * description must name these.
 */

/** Values that a schema allows and the service rejects, by the words that descriptions use for them. */
const exceptions = [
  { name: 'unpaired surrogates', isIn: (text: string) => !text.isWellFormed() },
  {
    name: 'invisible characters beyond the Basic Multilingual Plane',
    isIn: (text: string) => /[\p{Default_Ignorable_Code_Point}&&[\u{10000}-\u{10FFFF}]]/v.test(text),
  },
]

type Field = Schema & { description: string }
const ajv = new Ajv({ strict: false, validateFormats: false })
const fields = operations.flatMap(({ operationId, body }) =>
  Object.entries(body?.properties ?? {}).flatMap(([name, schema]) =>
    schema.type === 'string'
      ? [{ operationId, name, schema: schema as Field, admits: ajv.compile<string>(schema) }]
      : [],
  ),
)

describe.for(fields)('$operationId $name', ({ operationId, name, schema, admits }) => {
  const { pattern = '', example } = schema
  const spoken = schema.description.replaceAll(/\s+/g, ' ')
  const named = exceptions.filter((exception) => spoken.includes(exception.name))

  test('says in its description that white space is trimmed', () => {
    expect(spoken).toContain('Leading and trailing white space is removed')
  })

  test('accepts what its schema allows, except what its description names', { timeout }, async ({ task }) => {
    const { request, world } = await startService({ limits: { writeLimit: 0 } })
    const [method, path, options] = validRequests(world)[operationId as 'createApp' | 'updateApp']
    const counts = new Map<string, number>()
    const send = async (value: string) => {
      if (!admits(value)) return
      const json = { ...(options?.json as object), [name]: value }
      const { status, text } = await request(method, path, { ...options, json })
      if (status !== 400) return
      const found = named.find(({ isIn }) => isIn(value))
      expect(found, `${JSON.stringify(value)}\n${text}`).toBeDefined()
      if (found) counts.set(found.name, (counts.get(found.name) ?? 0) + 1)
    }
    for (const unit of units) await send(`${example}`.slice(0, 4) + unit + `${example}`.slice(4))
    await runProperty(fc.asyncProperty(fc.stringMatching(new RegExp(pattern, 'u')), send), Math.ceil(total / 50), task)
    // A description must not name an exception that does not exist.
    for (const exception of named) expect(counts.get(exception.name), exception.name).toBeGreaterThan(0)
  })
})
