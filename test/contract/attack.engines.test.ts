import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, type RunnerTestCase, test } from 'vitest'
import { generateKey } from '../../src/accounts/keys.ts'
import { restoreApp } from '../../src/moderation/decisions.ts'
import type { CheckedResponse } from '../support/check.ts'
import { type Service, startService } from '../support/service.ts'
import { isRerun, operations, runProperty, timeout, total } from './fuzz.ts'
import { Model, type ModelApp } from './model.ts'
import { type Forbidden, judge, misnamed, readHeader } from './oracle.ts'
import { ownerFields } from './owner-fields.ts'
import { type Request, send } from './raw-http-client.ts'
import { attacksOn } from './requests.ts'

/**
 * Single requests: the service does what the document allows, and rejects what it forbids for the
 * right reason.
 */

const share = Math.ceil((total * 0.8) / (operations.length * 4))
let sent = 0

/** Values that exist in the test world. */
const known = {
  id: [1, 2, 3, 4, 5, 6, 999],
  category_id: [1, 2, 3],
  category: ['tools', 'games', 'empty'],
  package_name: ['org.example.tideclock', 'ORG.Example.gone', 'org.example.one', 'org.example.two'],
  slug: ['tide-clock', 'bird-song', 'cloud-atlas', 'gone'],
  search: ['tide', 'bird song', 'ada'],
  'Idempotency-Key': ['k-1', '"k-1"', '"k-2"'],
  'If-Match': ['*', '*, "a"', 'W/"a"', '"a", "b"'],
}

test('parameters that can have any text have values that exist', () => {
  const missing = operations
    .flatMap(({ parameters }) => parameters)
    .filter(
      ({ in: place, schema }) => place !== 'header' && schema.type === 'string' && !schema.enum,
    )
    .filter(({ name }) => !(name in known))
  expect(missing.map(({ name }) => name)).toEqual([])
})

describe.for(operations)('$operationId', (operation) => {
  const { valid, nearly, hostile } = attacksOn(operation, known)

  test('handles valid requests', { timeout }, async ({ task }) => {
    await attack(valid, share, task, (request) => {
      expect(judge(operations, request), 'a request generated as valid').not.toHaveProperty(
        'status',
      )
      return request
    })
  })

  test('rejects requests that break one rule', { timeout }, async ({ task }) => {
    await attack(nearly, 2 * share, task, ({ request, claim: { status, place } }) => {
      const verdict = judge(operations, request)
      expect(verdict, 'a request generated to break one rule').toMatchObject({
        status,
        ...(place && { problems: [place] }),
      })
      return request
    })
  })

  test('survives hostile requests', { timeout }, async ({ task }) => {
    await attack(hostile, share, task, (request) => request)
  })
})

// A test, since a hook would also fail, and hide the first failure, if the run is stopped by it.
test.skipIf(isRerun)('as many requests are sent as asked for', () => {
  expect(sent).toBeGreaterThanOrEqual(0.8 * total)
})

/** Sends generated requests until a response is wrong. */
async function attack<T>(
  made: Arbitrary<T>,
  runs: number,
  task: RunnerTestCase,
  requestIn: (made: T) => Request,
) {
  let target = await startTarget()
  const property = fc.asyncProperty(made, async (one) => {
    try {
      await exchange(target, requestIn(one))
    } catch (error) {
      // The model does not have the effect of a wrong response.
      target = await startTarget()
      throw error
    }
  })
  await runProperty(property, runs, task)
}

type Target = Awaited<ReturnType<typeof startTarget>>

/** A service and a model of its state. */
async function startTarget() {
  // Many of the requests have a refused key, which the model does not count.
  const service = await startService({ limits: { refusedKeyLimit: 0 } })
  const model = new Model(Object.values(service.world.categories), await worldApps(service))
  return { service, model, keys: { ...service.world.keys, unknown: generateKey().key } }
}

async function exchange({ service, model, keys }: Target, request: Request) {
  sent++
  const reply = await send(service, keys, request)
  holdRequestId(request, reply)
  const verdict = judge(operations, request)
  if ('status' in verdict) return holdRefusal(verdict, reply)
  model.update(verdict, request.caller, reply)
  // Keeps apps to attack.
  for (const app of model.apps.filter(
    ({ id, isDeleted }) => isDeleted && id === reply.body?.data.app_id,
  )) {
    await service.database.write((runner) => restoreApp(runner, app.id, { operator: 'test' }))
    model.restored(app)
  }
}

async function worldApps({ world, get }: Service): Promise<ModelApp[]> {
  const { bobs, bobsPending, deleted, ...adas } = world.apps
  const owned = [
    ...Object.values(adas).map((id) => ({ id, owner: 'ada' as const })),
    ...[bobs, bobsPending].map((id) => ({ id, owner: 'bob' as const })),
  ]
  const common = { isDeleted: false, isChanged: false }
  const apps = owned.map(async ({ id, owner }): Promise<ModelApp> => {
    const { headers, body } = await get(`/apps/${id}`, { key: world.keys[owner] })
    const { slug, status } = body.data.app
    const fields = Object.fromEntries(
      Object.entries(body.data.app).filter(([name]) => ownerFields.includes(name)),
    )
    return {
      ...common,
      id,
      owner,
      slug,
      status,
      fields,
      etag: String(headers.etag),
      pastEtags: new Set(),
    }
  })
  const fields = { package_name: 'org.example.gone' }
  const gone: ModelApp = {
    ...common,
    id: deleted,
    owner: 'ada',
    slug: 'gone',
    status: 'approved',
    fields,
    isDeleted: true,
    etag: undefined,
    pastEtags: new Set(),
  }
  return [...(await Promise.all(apps)), gone]
}

function holdRefusal(verdict: Forbidden, reply: CheckedResponse) {
  expect(reply.status, reply.text).toBe(verdict.status)
  if (reply.method === 'HEAD') return
  const { code, errors = [] } = reply.body.data
  expect(code).toBe(verdict.code)
  const named = errors.map(
    (problem: { in: string; field: string }) => `${problem.in} ${problem.field}`,
  )
  expect(misnamed(verdict, named), reply.text).toEqual([])
}

/** The caller's request id is returned if it is valid. */
function holdRequestId({ headers }: Request, reply: CheckedResponse) {
  const ids = headers
    .filter(([name]) => name === 'X-Request-Id')
    .map(([, value]) => readHeader(value))
  const [id = ''] = ids
  if (ids.length === 1 && /^[A-Za-z0-9._-]{1,128}$/.test(id))
    expect(reply.headers['x-request-id']).toBe(id)
  else expect(ids).not.toContain(reply.headers['x-request-id'])
}
