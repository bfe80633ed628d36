import { expect, inject } from 'vitest'
import { newApp } from '../contract/valid-requests.ts'
import { copyWorld } from '../support/database.ts'
import { commandLine, serve } from '../support/process.ts'
import { authorization, type Connect, connectClient, operations } from './clients/calls.ts'

/**
 * The life of an app, through a client, on a running server whose base URL has a path. Calls every
 * operation.
 */
export async function lifeCycle(connect: Connect) {
  const { keys, categories } = inject('world')
  const address = await copyWorld()
  const { port } = await serve(address, { BASE_URL: 'http://apps.test/catalogue' })
  const baseUrl = `http://127.0.0.1:${port}/catalogue`
  const called = new Set<string>()
  const recording: Connect = async (...server) => {
    const call = await connect(...server)
    return (operation, args) => {
      called.add(operation.operationId)
      return call(operation, args)
    }
  }
  const ada = await connectClient(recording, baseUrl, keys.ada)
  const anyone = await connectClient(recording, baseUrl)
  const package_name = 'org.example.starmap'
  const app = {
    ...newApp,
    category_id: categories.tools,
    short_description: 'Stars',
    package_name,
    website_url: 'https://stars.example/',
    source_code_url: 'https://code.example/stars',
    license: 'MIT',
  }

  // Created: pending, and visible only to its owner.
  const created = await ada.createApp({ body: app })
  const { app_id, ...rest } = dataOf(created, 201)
  const path = { id: app_id }
  expect(rest).toEqual({ slug: 'star-map', status: 'pending' })
  expect(created.headers.get('Location')).toBe(`http://apps.test/catalogue/apps/${app_id}`)
  const time = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]{12}Z$/)
  const pending = {
    id: app_id,
    ...app,
    slug: 'star-map',
    version: '1.0.0',
    status: 'pending',
    developer_name: 'Ada',
    category_name: 'Tools',
    category_slug: 'tools',
    total_downloads: 0,
    average_rating: 0,
    created_at: time,
    updated_at: time,
    rating_count: 0,
    review_count: 0,
    reviews: [],
  }
  expect(dataOf(await ada.getApp({ path }), 200)).toEqual({ app: pending })
  expect(errorOf(await anyone.getApp({ path }), 404)).toEqual({ code: 'not_found' })

  // Its owner's list has it first, until it is deleted.
  const lastChanged = async () =>
    dataOf(await ada.listOwnApps({ query: { limit: 1 } }), 200).apps[0]
  const summary = {
    id: app_id,
    name: 'Star Map',
    slug: 'star-map',
    description: 'The sky above you.',
    developer_name: 'Ada',
    category_name: 'Tools',
    total_downloads: 0,
    average_rating: 0,
  }
  expect(await lastChanged()).toEqual({
    ...summary,
    status: 'pending',
    version: '1.0.0',
    package_name,
    created_at: time,
    updated_at: time,
    waiting_since: time,
  })
  const rejected = dataOf(await ada.listOwnApps({ query: { status: 'rejected' } }), 200)
  expect(rejected.apps.map(({ status, rejection_reason }) => [status, rejection_reason])).toEqual([
    ['rejected', expect.any(String)],
  ])
  const countOfTools = async () =>
    dataOf(await anyone.listCategories({}), 200).categories.find(({ slug }) => slug === 'tools')
      ?.app_count
  const before = Number(await countOfTools())

  // Approved: visible to everyone.
  expect((await commandLine(address).run('moderation', 'approve', String(app_id))).code).toBe(0)
  const read = await anyone.getApp({ path })
  expect(dataOf(read, 200)).toEqual({ app: { ...pending, status: 'approved', approved_at: time } })
  expect(await lastChanged()).toMatchObject({ id: app_id, status: 'approved' })
  expect(await countOfTools()).toBe(before + 1)
  const listed = dataOf(
    await anyone.listApps({ query: { sort: 'latest', page: 1, limit: 2 } }),
    200,
  )
  expect(listed.apps.map(({ name }) => name)).toEqual(['Star Map', 'Bird Song'])
  expect(listed.pagination).toEqual({ current_page: 1, total_pages: 2, per_page: 2 })
  const found = dataOf(
    await anyone.listApps({ query: { search: 'sky stars', category: 'tools' } }),
    200,
  )
  expect(found.apps).toEqual([summary])

  const named = dataOf(await anyone.listApps({ query: { package_name } }), 200)
  expect(named.apps).toEqual(found.apps)
  expect(dataOf(await anyone.listApps({ query: { slug: 'star-map' } }), 200)).toEqual(named)

  // Updated, if it has not changed.
  const etag = String((await ada.getApp({ path })).headers.get('ETag'))
  const header = { 'If-Match': etag }
  const updated = await ada.updateApp({
    path,
    header,
    body: { name: 'Planet Map', short_description: '' },
  })
  expect(dataOf(updated, 200).app).toMatchObject({
    name: 'Planet Map',
    slug: 'star-map',
    status: 'approved',
  })
  expect(dataOf(updated, 200).app).not.toHaveProperty('short_description')
  expect(updated.headers.get('ETag')).not.toBe(etag)
  const late = await ada.updateApp({ path, header, body: { name: 'Moon Map' } })
  expect(errorOf(late, 412)).toEqual({ code: 'precondition_failed' })

  // Errors are described in data.
  expect(errorOf(await anyone.getApp({ path: { id: 999_999 } }), 404)).toEqual({
    code: 'not_found',
  })
  expect(errorOf(await anyone.createApp({ body: app }), 401)).toEqual({ code: 'unauthorized' })
  expect(errorOf(await ada.createApp({ body: { ...app, name: '' } }), 400)).toEqual({
    code: 'invalid_request',
    errors: [{ in: 'body', field: '/name', message: 'must not be empty' }],
  })
  expect(errorOf(await anyone.listApps({ query: { limit: 101 } }), 400)).toMatchObject({
    code: 'invalid_request',
    errors: [{ in: 'query', field: 'limit' }],
  })
  expect(
    errorOf(await ada.createApp({ body: { ...newApp, category_id: 999 } }), 422),
  ).toMatchObject({
    code: 'unknown_category',
    errors: [{ in: 'body', field: '/category_id' }],
    categories: [{ slug: 'empty' }, { slug: 'games' }, { slug: 'tools' }],
  })

  // The client returns each collection as the server sends it.
  for (const { operationId, path, needsKey } of operations.filter(
    ({ method, path }) => method === 'GET' && !path.includes('{'),
  )) {
    const caller = needsKey ? ada : anyone
    const headers = authorization(needsKey ? keys.ada : undefined)
    // None needs arguments, but the type of a union of calls requires those of all.
    const { status, body } = await caller[operationId as 'listApps']({})
    expect(status).toBe(200)
    expect(body).toEqual(await (await fetch(baseUrl + path, { headers })).json())
  }

  // Deleted: gone for everyone.
  expect(dataOf(await ada.deleteApp({ path }), 200)).toEqual({ app_id })
  expect(errorOf(await ada.getApp({ path }), 404)).toEqual({ code: 'not_found' })
  expect(errorOf(await ada.deleteApp({ path }), 404)).toEqual({ code: 'not_found' })
  expect(await lastChanged()).not.toMatchObject({ id: app_id })
  expect(await countOfTools()).toBe(before)

  expect([...called].toSorted()).toEqual(
    operations.map(({ operationId }) => operationId).toSorted(),
  )
}

type Envelope = { success: boolean; message: string; data: unknown }
type Answer<Body> = { status: number; body: Body | undefined }

const dataOf = <Body extends Envelope>(answer: Answer<Body>, status: number) =>
  inside(answer, status, true)
const errorOf = <Body extends Envelope>(answer: Answer<Body>, status: number) =>
  inside(answer, status, false)

function inside<Body extends Envelope, Success extends boolean>(
  { status, body }: Answer<Body>,
  expected: number,
  success: Success,
): Extract<Body, { success: Success }>['data'] {
  expect({ status, body }).toEqual({
    status: expected,
    body: { success, message: expect.any(String), data: expect.anything() },
  })
  return (body as Extract<Body, { success: Success }>).data
}
