import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { findOrAddDeveloper, issueKey } from '../../src/accounts/account-store.ts'
import { isRefused, listedCharacters } from '../contract/characters.ts'
import { newApp } from '../contract/valid-requests.ts'
import { units } from '../contract/values.ts'
import { freezeClock } from '../support/clock.ts'
import { expectConsistent } from '../support/consistency.ts'
import { addReviews } from '../support/reviews.ts'
import { startService } from '../support/service.ts'

test('an app keeps every character that the document accepts', async () => {
  const service = await startService()
  const { pattern } = document.components.schemas.NewAppDescription
  const accepts = (text: string) => new RegExp(pattern, 'u').test(text) && !isRefused('prose', text)
  const texts = [...units, ...listedCharacters].map((character) => `a${character}b`)
  const json = { ...newApp, description: texts.filter(accepts).join('') }
  const key = service.world.keys.ada
  const { headers } = await service.request('POST', '/apps', { key, json })
  const { body } = await service.get(new URL(String(headers.location)).pathname, { key })
  expect(body.data.app.description).toBe(json.description)
})

test('an app from creation to deletion', async () => {
  const service = await startService()
  const { keys } = service.world
  const created = await service.request('POST', '/apps', { key: keys.ada, json: newApp })
  const path = `/apps/${created.body.data.app_id}`
  expect(created.headers.location).toBe(`http://apps.test${path}`)

  // Pending: visible only to its owner.
  expect((await service.get(path)).status).toBe(404)
  const pending = await service.get(path, { key: keys.ada })
  expect(pending.body.data.app).toMatchObject({
    ...newApp,
    version: '1.0.0',
    status: 'pending',
    reviews: [],
  })
  expect(pending.body.data.app).not.toHaveProperty('approved_at')
  expect((await service.get('/apps?search=star')).body.data.apps).toEqual([])

  // Approved: visible to everyone, in the list and in search.
  const approvalTime = freezeClock(Date.now() + 60_000)
  await service.decide('approve', created.body.data.app_id)
  const approved = await service.get(path)
  expect(approved.body.data.app).toMatchObject({
    status: 'approved',
    approved_at: new Date(approvalTime).toISOString(),
  })
  expect((await service.get('/apps?search=star')).body.data.apps).toHaveLength(1)
  expect((await service.get('/apps')).body.data.apps[0].name).toBe('Star Map')

  // Updated: search finds the new text; status, slug and first approval stay.
  await service.request('PUT', path, { key: keys.ada, json: { name: 'Planet Map' } })
  const updated = await service.get(path)
  expect(updated.body.data.app).toMatchObject({
    name: 'Planet Map',
    slug: 'star-map',
    status: 'approved',
    approved_at: approved.body.data.app.approved_at,
  })
  expect((await service.get('/apps?search=star')).body.data.apps).toEqual([])
  expect((await service.get('/apps?search=planet')).body.data.apps).toHaveLength(1)

  // Taken down: hidden from others; the owner sees the reason, and an update makes it pending.
  await service.decide('reject', created.body.data.app_id)
  expect((await service.get(path)).status).toBe(404)
  expect((await service.get('/apps?search=planet')).body.data.apps).toEqual([])
  expect((await service.get(path, { key: keys.ada })).body.data.app.rejection_reason).toBe(
    'Because.',
  )
  const again = await service.request('PUT', path, {
    key: keys.ada,
    json: { description: 'All planets.' },
  })
  expect(again.body.data.app.status).toBe('pending')

  // Approved again: the time of the first approval stays.
  freezeClock(approvalTime + 60_000)
  await service.decide('approve', created.body.data.app_id)
  expect((await service.get(path)).body.data.app.approved_at).toBe(
    approved.body.data.app.approved_at,
  )

  // Deleted: hidden from everyone.
  expect((await service.request('DELETE', path, { key: keys.ada })).body.data).toEqual({
    app_id: created.body.data.app_id,
  })
  expect((await service.request('DELETE', path, { key: keys.ada })).status).toBe(404)
  expect((await service.get(path, { key: keys.ada })).status).toBe(404)
  expect((await service.get('/apps?search=planet')).body.data.apps).toEqual([])
  const next = await service.request('POST', '/apps', { key: keys.ada, json: newApp })
  expect(next.body.data.app_id).toBeGreaterThan(created.body.data.app_id)
  expect(next.body.data.slug).toBe('star-map-2')

  // Each change has an audit row: who, what, before and after.
  const audit = await service.database.read(({ sql }) =>
    sql('audit').where({ app_id: created.body.data.app_id }).orderBy('id'),
  )
  expect(audit.map(({ action }) => action)).toEqual([
    'app create',
    'app approve',
    'app update',
    'app reject',
    'app update',
    'app approve',
    'app delete',
  ])
  const renamed = audit[2]
  expect(renamed).toMatchObject({
    before: '{"name":"Star Map"}',
    after: '{"name":"Planet Map"}',
    operator: null,
  })
  expect(renamed?.key_id && keys.ada.includes(renamed.key_id)).toBe(true)
  expect(audit[1]).toMatchObject({ operator: 'test', key_id: null })
})

test('an app with an invisible name, from before the rule, can be read and updated', async () => {
  const { world, database, get, request } = await startService()
  const { keys, apps } = world
  const texts = {
    name: 'a\u202eb',
    short_description: '\u2066',
    description: '\u200b',
    version: '\u3164',
  }
  await database.write(async ({ sql }) => {
    await sql('apps').where({ id: apps.approved }).update(texts)
    await sql('developers').where({ name: 'Ada' }).update({ name: 'Ada\u200e' })
    await sql('categories').where({ slug: 'tools' }).update({ name: '\u2060' })
    await sql('reviews').update({ reviewer_name: '\u200b', comment: '\u202e' })
  })
  const path = `/apps/${apps.approved}`
  const names = { developer_name: 'Ada\u200e', category_name: '\u2060' }
  expect((await get(path)).body.data.app).toMatchObject({ ...texts, ...names })
  expect((await get('/apps?category=tools')).body.data.apps[0]).toMatchObject({
    name: texts.name,
    ...names,
  })
  const updated = await request('PUT', path, { key: keys.ada, json: { version: '2' } })
  expect(updated.body.data.app).toMatchObject({ ...texts, version: '2' })
  expect((await request('PUT', path, { key: keys.ada, json: { name: texts.name } })).status).toBe(
    400,
  )

  // The developer exists, so a new key does not check the name.
  const key = await database.write(async (runner) => {
    const ada = await findOrAddDeveloper(runner, 'Ada\u200e')
    return (await issueKey(runner, ada, { operator: 'test' })).key
  })
  expect((await request('PUT', path, { key, json: { name: 'Tide Clock' } })).status).toBe(200)
  await expect(
    database.write((runner) => findOrAddDeveloper(runner, 'Bob\u200e')),
  ).rejects.toMatchObject({ name: 'OperatorError' })
})

test('an unchanged app is a 304, and every update changes its ETag', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  const path = `/apps/${apps.approved}`
  const first = await service.get(path)
  const etag = String(first.headers.etag)
  expect((await service.get(path, { headers: { 'If-None-Match': etag } })).status).toBe(304)
  expect((await service.get(path, { headers: { 'If-None-Match': `"x", W/${etag}` } })).status).toBe(
    304,
  )
  const updated = await service.request('PUT', path, {
    key: keys.ada,
    json: { version: '2' },
    // With the suffix of a proxy that compresses.
    headers: { 'If-Match': `"x", ${etag.slice(0, -1)}-zstd"` },
  })
  expect(updated.status).toBe(200)
  expect(updated.headers.etag).not.toBe(etag)
  const second = await service.get(path, { headers: { 'If-None-Match': etag } })
  expect(second.status).toBe(200)
  expect(second.headers.etag).toBe(updated.headers.etag)
  // If-Match never matches weak or malformed ETags (RFC 9110, section 13.1.1), so repeating the
  // change would not help.
  const now = String(updated.headers.etag)
  const weak =
    'If-Match cannot match a weak ETag (W/). Read the app with Accept-Encoding: identity, and send the ETag of that response.'
  const malformed =
    'If-Match must be an ETag as you received it, with its quotes; or several, or * alone.'
  for (const [tag, message] of [
    [`W/${now}`, weak],
    [`W/${now.slice(0, -1)}-gzip"`, weak],
    [`W/${etag}`, weak],
    [`${now.slice(1)}, W/${now}`, weak],
    [now.slice(1, -1), malformed],
    [now.slice(1), malformed],
    ['', malformed],
    ['*, *', malformed],
  ] as const) {
    const headers = { 'If-Match': tag }
    const refused = await service.request('PUT', path, {
      key: keys.ada,
      json: { version: '3' },
      headers,
    })
    expect([refused.status, refused.body.message], tag).toEqual([412, message])
  }
  const stale = await service.request('DELETE', path, {
    key: keys.ada,
    headers: { 'If-Match': etag },
  })
  expect([stale.status, stale.body.message]).toEqual([
    412,
    'The app has changed since you read it; read it again and repeat the change.',
  ])
  const current = { 'If-Match': `"x", ${now}` }
  expect((await service.request('DELETE', path, { key: keys.ada, headers: current })).status).toBe(
    200,
  )
})

test('search finds an app by its new texts after all have changed', async () => {
  const service = await startService()
  const { keys, apps, categories } = service.world
  const json = {
    name: 'Ebb Table',
    short_description: 'Moon and shore',
    description: 'It shows the ocean.',
    version: '2',
    package_name: 'com.example.almanac',
    category_id: categories.games,
  }
  await service.request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json })
  const found = async (search: string) =>
    (await service.get(`/apps?search=${search}`)).body.data.apps.map(({ id }: { id: number }) => id)
  expect([await found('ebb+shore+ocean+almanac&category=games'), await found('clock')]).toEqual([
    [apps.approved],
    [],
  ])
  await expectConsistent(service.database)
})

test('an app that is changed back within a millisecond gets a new ETag each time', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  const now = freezeClock()
  const update = async (version: string) => {
    const reply = await service.request('PUT', `/apps/${apps.approved}`, {
      key: keys.ada,
      json: { version },
    })
    expect(reply.status).toBe(200)
    return { etag: reply.headers.etag, time: Date.parse(reply.body.data.app.updated_at) }
  }
  const updates = [await update('A'), await update('B'), await update('A')]
  expect(new Set(updates.map(({ etag }) => etag)).size).toBe(3)
  // Each update gets a later time.
  expect(updates.map(({ time }) => time - now)).toEqual([0, 1, 2])
})

test('an update without a change keeps the ETag and writes no audit row', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  const path = `/apps/${apps.approved}`
  const before = await service.get(path)
  const rows = () =>
    service.database.read(({ sql }) => sql('audit').where({ app_id: apps.approved }))
  const audited = (await rows()).length
  const reply = await service.request('PUT', path, {
    key: keys.ada,
    json: { name: 'Tide Clock', short_description: 'High and low water' },
  })
  expect(reply.body.data).toEqual(before.body.data)
  expect(reply.headers.etag).toBe(before.headers.etag)
  expect(await rows()).toHaveLength(audited)
})

test('skips the number of a slug that another name already has', async () => {
  const service = await startService()
  const { keys } = service.world
  const create = async (name: string) =>
    (await service.request('POST', '/apps', { key: keys.ada, json: { ...newApp, name } })).body.data
      .slug
  expect(await create('Star Map')).toBe('star-map')
  expect(await create('Star Map 2')).toBe('star-map-2')
  expect(await create('Star Map')).toBe('star-map-3')
})

test('a failed change is rolled back', async () => {
  const service = await startService()
  const { keys, apps } = service.world
  const before = await service.get(`/apps/${apps.pending}`, { key: keys.ada })
  const reply = await service.request('PUT', `/apps/${apps.pending}`, {
    key: keys.ada,
    json: { name: 'New', package_name: 'org.example.tideclock' },
  })
  expect(reply.status).toBe(409)
  expect((await service.get(`/apps/${apps.pending}`, { key: keys.ada })).body).toEqual(before.body)
})

test('shows the newest hundred reviews, and counts all', async () => {
  const service = await startService()
  const { apps } = service.world
  await service.addReviews(apps.bobs, 130)
  const { app } = (await service.get(`/apps/${apps.bobs}`)).body.data
  expect(app.review_count).toBe(130)
  expect(app.reviews).toHaveLength(100)
  const times = app.reviews.map(({ created_at }: { created_at: string }) => created_at)
  expect(times).toEqual(times.toSorted().reverse())
  expect(times[0]).toBe('2026-01-01T00:02:09.000Z')
  expect(app.average_rating).toBe(3)
})

test('sorts reviews with the same time by id, newest first', async () => {
  const service = await startService()
  const { apps } = service.world
  const review = {
    app_id: apps.bobs,
    reviewer_name: 'R',
    rating: 5,
    comment: '',
    created_at: '2026-01-01T00:00:00.000Z',
  }
  await service.database.write((runner) => addReviews(runner, Array(101).fill(review)))
  const { app } = (await service.get(`/apps/${apps.bobs}`)).body.data
  const ids: number[] = app.reviews.map(({ id }: { id: number }) => id)
  const [newest = 0] = ids
  expect(ids).toEqual(Array.from({ length: 100 }, (_, index) => newest - index))
  const [last] = await service.database.read(({ sql }) => sql('reviews').max({ id: 'id' }))
  expect(newest).toBe(last?.id)
})

test('counts concurrent reviews of two apps separately', async () => {
  const service = await startService()
  const { apps } = service.world
  const review = { reviewer_name: 'R', comment: '', created_at: '2026-01-01T00:00:00.000Z' }
  await service.database.write((runner) =>
    addReviews(runner, [
      { ...review, app_id: apps.approved, rating: 1 },
      { ...review, app_id: apps.bobs, rating: 2 },
      { ...review, app_id: apps.bobs, rating: 3 },
    ]),
  )
  const rating = async (id: number) => {
    const { review_count, average_rating } = (await service.get(`/apps/${id}`)).body.data.app
    return [review_count, average_rating]
  }
  expect([await rating(apps.approved), await rating(apps.bobs)]).toEqual([
    [4, 3.75],
    [2, 2.5],
  ])
})
