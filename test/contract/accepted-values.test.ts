import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { startService } from '../support/service.ts'
import { isRefused, listedCharacters } from './characters.ts'
import { operations, runProperty, timeout, total } from './fuzz.ts'
import { storedValue } from './oracle.ts'
import { validRequests } from './valid-requests.ts'
import { anyText, jsonOf, units } from './values.ts'

/**
 * The service accepts exactly the texts that the schema allows, except those with characters that
 * the document lists, and removes white space around the fields that the document names.
 */

const ajv = new Ajv({ strict: false, validateFormats: false })
const fields = operations.flatMap(({ operationId, body }) =>
  Object.entries(body?.properties ?? {}).flatMap(([name, schema]) =>
    schema.type === 'string'
      ? [{ operationId, name, schema, admits: ajv.compile<string>(schema) }]
      : [],
  ),
)

describe.for(fields)('$operationId $name', ({ operationId, name, schema, admits }) => {
  const { pattern = '', maxLength = 0, 'x-characters': rule = '' } = schema
  const example = String(schema.example)

  test('accepts exactly what the document allows, and trims as it says', { timeout }, async ({
    task,
  }) => {
    const { request, world } = await startService({ limits: { writeLimit: 0 } })
    const [method, path, options] = validRequests(world)[operationId as 'createApp' | 'updateApp']
    const counts = { taken: 0, listed: 0, 'against the schema': 0 }
    const send = async (value: string) => {
      const reason = admits(value)
        ? isRefused(rule, value)
          ? 'listed'
          : 'taken'
        : 'against the schema'
      counts[reason]++
      const json = { ...(options?.json as object), [name]: value }
      const { status, text, body } = await request(method, path, { ...options, json })
      expect(status === 400, `${JSON.stringify(value).slice(0, 200)} is ${reason}\n${text}`).toBe(
        reason !== 'taken',
      )
      // Only an update returns the app. An empty text removes the field.
      if (status === 200) expect(body.data.app[name]).toBe(storedValue(name, value) || undefined)
    }
    // The fields of updateApp have the same schemas, so there one of them suffices. Without it, a
    // short run may have no text with a listed character.
    const each =
      operationId === 'createApp' ? [...units, ...listedCharacters, '\u3000'] : ['\u202e']
    for (const unit of each)
      for (const text of [`a${unit}b`, `${unit}${example}`, `${example}${unit}`, unit])
        await send(text)
    for (const length of [maxLength - 1, maxLength])
      for (const space of ['\u00a0', ' ']) await send(example[0]?.repeat(length) + space)
    for (const text of ['', example]) await send(text)
    const letters = fc.string({ unit: fc.constantFrom(...units, ...listedCharacters, ...example) })
    const text = fc.oneof(
      pattern === '' ? anyText : fc.stringMatching(new RegExp(pattern, 'u')),
      anyText,
      letters,
      ...(rule === 'address' ? [letters.map((host) => `http://${host}/`)] : []),
    )
    await runProperty(fc.asyncProperty(text, send), Math.ceil(total / 25), task)
    for (const count of Object.values({ ...counts, ...(rule === '' && { listed: 1 }) }))
      expect(count).toBeGreaterThan(0)
  })
})

const { body: newAppSchema } =
  operations.find(({ operationId }) => operationId === 'createApp') ?? {}

describe('whole bodies of createApp', () => {
  if (!newAppSchema) throw new Error('createApp takes no body')
  const { valid, nearly } = jsonOf(newAppSchema)
  const admits = ajv.compile(newAppSchema)
  const runs = Math.ceil(total / 12.5)

  test('a valid one is never a 400', { timeout }, async ({ task }) => {
    const { request, world } = await startService({ limits: { writeLimit: 0 } })
    const property = fc.asyncProperty(valid, async (json) => {
      expect(admits(json)).toBe(true)
      expect([201, 409, 422]).toContain(
        (await request('POST', '/apps', { key: world.keys.ada, json })).status,
      )
    })
    await runProperty(property, runs, task)
  })

  test('an invalid one is never accepted', { timeout }, async ({ task }) => {
    const { request, world } = await startService({ limits: { writeLimit: 0 } })
    const property = fc.asyncProperty(fc.oneof(...nearly), async ({ value }) => {
      // What the schema admits has a character that the document lists.
      const json = JSON.stringify(value)
      const headers = { 'Content-Type': 'application/json' }
      const { status } = await request('POST', '/apps', {
        key: world.keys.ada,
        headers,
        body: json,
      })
      expect(status, json.slice(0, 200)).toBe(400)
    })
    await runProperty(property, runs, task)
  })
})
