import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { startService } from '../support/service.ts'
import { operations, runProperty, timeout, total } from './fuzz.ts'
import type { Schema } from './operations.ts'
import { validRequests } from './valid-requests.ts'
import { units } from './values.ts'

/**
 * What the schema admits, the service takes, but for what no pattern tells: of that each field's description speaks.
 * Nothing here but the schema says what is admitted.
 */

/** What a text is refused for that its schema admits, and how its field's description names it. */
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

  test('says what is removed around it', () => {
    expect(spoken).toContain('Leading and trailing white space is removed')
  })

  test('is taken as the schema admits it, but for what its description names', { timeout }, async ({ task }) => {
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
    // An exception that is never made is none to speak of.
    for (const exception of named) expect(counts.get(exception.name), exception.name).toBeGreaterThan(0)
  })
})
