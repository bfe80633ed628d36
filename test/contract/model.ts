import { expect } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import type { Decision } from '../../src/catalogue/policy.ts'
import type { CheckedResponse } from '../support/check.ts'
import type { Allowed, Input } from './oracle.ts'
import { ownerFields } from './owner-fields.ts'
import type { Caller } from './raw-http-client.ts'

/** The rules of the document about apps: who can see and change them, and their states. */

type Fields = Record<string, unknown> & { package_name?: string }
export type ModelApp = {
  id: number
  owner: Caller
  slug: string
  status: 'pending' | 'approved' | 'rejected'
  isDeleted: boolean
  /** Whether the owner changed it after the last decision. */
  isChanged: boolean
  fields: Fields
  /** The last one received; undefined if the app has changed since. */
  etag: string | undefined
  pastEtags: Set<string>
}

/** A create that had an Idempotency-Key. */
type KeyedCreate = {
  owner: Caller | undefined
  key: string
  fields: Fields
  id: number
  slug: string
}

const codes: Record<number, string> = {
  403: 'forbidden',
  404: 'not_found',
  409: 'package_name_taken',
  412: 'precondition_failed',
  422: 'unknown_category',
}

export class Model {
  readonly apps: ModelApp[]
  readonly #categories: readonly number[]
  readonly #keyed: KeyedCreate[] = []

  constructor(categories: readonly number[], apps: ModelApp[] = []) {
    this.#categories = categories
    this.apps = apps
  }

  visible = (app: ModelApp, caller: Caller | undefined) =>
    !app.isDeleted && (app.status === 'approved' || app.owner === caller)

  listed = () => this.apps.filter((app) => app.status === 'approved' && !app.isDeleted)

  /** The expected status. */
  predict({ operation, input }: Allowed, caller: Caller | undefined): number {
    const { header, body } = input
    // Reading a collection always succeeds. The model does not know its ETag.
    if (operation.method === 'GET' && !operation.path.includes('{'))
      return header['If-None-Match'] === '*' ? 304 : 200
    const app = this.#target(input, caller)
    switch (operation.operationId) {
      case 'getApp':
        if (!app) return 404
        return isOneOf(app.etag, header['If-None-Match'], 'weakly') ? 304 : 200
      case 'createApp': {
        const earlier = this.#earlierCreate(input, caller)
        if (earlier) return sameFields(earlier.fields, sentFields(input)) ? 201 : 422
        return this.#refusalOf(caller, body) ?? 201
      }
      case 'updateApp':
      case 'deleteApp':
        if (!app) return 404
        if (app.owner !== caller) return 403
        if (header['If-Match'] !== undefined && !isOneOf(app.etag, header['If-Match'], 'strongly'))
          return 412
        return (operation.operationId === 'updateApp' && this.#refusalOf(caller, body, app)) || 200
      default:
        throw new Error(`Say in test/contract/model.ts what ${operation.operationId} does.`)
    }
  }

  /** Compares a response with the prediction, and updates the model. */
  update(allowed: Allowed, caller: Caller | undefined, reply: CheckedResponse) {
    const status = this.predict(allowed, caller)
    expect(reply.status, reply.text).toBe(status)
    if (reply.method === 'HEAD') return
    const earlier =
      allowed.operation.operationId === 'createApp' && this.#earlierCreate(allowed.input, caller)
    if (status >= 400)
      return expect(reply.body.data.code).toBe(earlier ? 'idempotency_key_reused' : codes[status])
    if (earlier)
      return expect(reply.body.data).toMatchObject({ app_id: earlier.id, slug: earlier.slug })
    const app = this.#target(allowed.input, caller)
    switch (allowed.operation.operationId) {
      case 'listApps':
        return status === 200 && this.#expectExact(allowed.input.query, reply)
      case 'listOwnApps':
        return status === 200 && this.#expectOwn(allowed.input.query, caller, reply)
      case 'createApp':
        return this.#created(allowed, caller, reply)
      case 'updateApp':
        return app && this.#updated(app, allowed.input.body, reply)
      case 'deleteApp':
        if (app) app.isDeleted = true
        return expect(reply.body.data).toEqual({ app_id: app?.id })
      case 'getApp':
        return app && expectApp(app, reply)
    }
  }

  decided(app: ModelApp, decision: Decision) {
    const status = decision === 'approve' ? 'approved' : 'rejected'
    if (app.isDeleted || (app.status === status && !(decision === 'approve' && app.isChanged)))
      return
    changed(app)
    Object.assign(app, { status, isChanged: false })
  }

  restored(app: ModelApp) {
    if (app.isDeleted) changed(app)
    app.isDeleted = false
  }

  #target({ path }: Input, caller: Caller | undefined): ModelApp | undefined {
    return this.apps.find((app) => app.id === path.id && this.visible(app, caller))
  }

  #earlierCreate({ header }: Input, owner: Caller | undefined): KeyedCreate | undefined {
    const key = plainKey(header['Idempotency-Key'])
    return this.#keyed.find((create) => create.owner === owner && create.key === key)
  }

  #refusalOf(
    caller: Caller | undefined,
    { category_id, package_name }: { category_id?: number; package_name?: string },
    own?: ModelApp,
  ) {
    const holder = this.#holderOf(package_name)
    if (holder && holder !== own && !(holder.isDeleted && holder.owner === caller)) return 409
    return category_id === undefined || this.#categories.includes(category_id) ? undefined : 422
  }

  #holderOf(name: string | undefined): ModelApp | undefined {
    if (!name) return undefined
    return this.apps.find(({ fields }) => fields.package_name?.toLowerCase() === name.toLowerCase())
  }

  /** A deleted app gives its package name to another app of its developer. */
  #release(name: string | undefined) {
    const holder = this.#holderOf(name)
    if (!holder?.isDeleted) return
    changed(holder)
    delete holder.fields.package_name
  }

  /** A list with a slug or a package name has only the app that has them. */
  #expectExact({ slug, package_name, category, search }: Input['query'], reply: CheckedResponse) {
    if (category || search || (slug === undefined && package_name === undefined)) return
    const hasValue = (value: unknown, own: string | undefined) =>
      value === undefined || own?.toLowerCase() === String(value).toLowerCase()
    const matches = this.listed().filter(
      (app) => hasValue(slug, app.slug) && hasValue(package_name, app.fields.package_name),
    )
    const { apps, pagination } = reply.body.data
    expect(pagination.total_pages).toBe(matches.length)
    const expected = pagination.current_page === 1 ? matches.map(({ id }) => id) : []
    expect(apps.map(({ id }: ModelApp) => id)).toEqual(expected)
  }

  /** A developer's list has all of their apps, and no deleted or other ones, the last changed first. */
  #expectOwn(
    { page, limit, status }: Input['query'],
    caller: Caller | undefined,
    reply: CheckedResponse,
  ) {
    const own = this.apps.filter(
      (app) =>
        app.owner === caller && !app.isDeleted && (status === undefined || app.status === status),
    )
    const { apps, pagination } = reply.body.data
    const [size, skipped] = [Number(limit), (Number(page) - 1) * Number(limit)]
    expect(pagination.total_pages).toBe(Math.ceil(own.length / size))
    expect(apps).toHaveLength(Math.max(0, Math.min(size, own.length - skipped)))
    type Listed = { id: number; status: string; updated_at: string }
    const keys = apps.map(({ id, status, updated_at }: Listed) => {
      expect(own).toContainEqual(expect.objectContaining({ id, status }))
      return `${updated_at} ${String(id).padStart(10, '0')}`
    })
    expect(keys).toEqual([...new Set(keys)].toSorted().toReversed())
  }

  #created({ input }: Allowed, owner: Caller = 'ada', reply: CheckedResponse) {
    const { app_id: id, slug } = reply.body.data
    expect(this.apps.filter((app) => app.id === id || app.slug === slug)).toEqual([])
    expect(reply.headers.location).toBe(`http://apps.test/apps/${id}`)
    const key = plainKey(input.header['Idempotency-Key'])
    if (key !== undefined) this.#keyed.push({ owner, key, fields: sentFields(input), id, slug })
    const fields = set(defaults, input.body)
    this.#release(fields.package_name)
    const state = { status: 'pending' as const, isDeleted: false, isChanged: false }
    this.apps.push({ id, owner, slug, ...state, fields, etag: undefined, pastEtags: new Set() })
  }

  #updated(app: ModelApp, body: Fields, reply: CheckedResponse) {
    const fields = set(app.fields, body)
    this.#release(fields.package_name)
    const status = app.status === 'rejected' ? 'pending' : app.status
    if (status !== app.status || !sameFields(fields, app.fields)) {
      changed(app)
      Object.assign(app, { fields, status, isChanged: true })
    }
    expectApp(app, reply)
  }
}

/** A key without quotes and escapes. */
const plainKey = (header: string | undefined) =>
  header?.startsWith('"') ? header.slice(1, -1).replaceAll(/\\(.)/g, '$1') : header

/** Of a new app, as the document says in words. */
const defaults: Fields = { version: '1.0.0' }

const sentFields = ({ sentBody }: Input): Fields => Object.assign({ ...defaults }, sentBody)

/** Omitted fields keep their values; an empty text or list removes its field. */
const set = (fields: Fields, body: Fields): Fields =>
  Object.fromEntries(
    Object.entries({ ...fields, ...body }).filter(([, value]) => String(value) !== ''),
  )

const sameFields = (one: Fields, other: Fields) =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].every(
    (name) => JSON.stringify(one[name]) === JSON.stringify(other[name]),
  )

function changed(app: ModelApp) {
  if (app.etag !== undefined) app.pastEtags.add(app.etag)
  app.etag = undefined
}

const { required } = document.components.schemas.App
/** Fields that an app may lack. */
const optionalFields = ownerFields.filter((name) => !required.includes(name))

/** An app's ETag changes exactly when the app does, and its fields are those written. */
function expectApp(app: ModelApp, { headers, body, status }: CheckedResponse) {
  const { etag } = headers
  if (app.etag !== undefined) expect(etag).toBe(app.etag)
  expect([...app.pastEtags]).not.toContain(etag)
  app.etag = String(etag)
  if (status === 304) return
  const { id, slug, status: state, fields } = app
  expect(body.data.app).toMatchObject({ id, slug, status: state, ...fields })
  const absent = optionalFields.filter((name) => !(name in fields))
  for (const name of absent) expect(body.data.app).not.toHaveProperty(name)
  expect('rejection_reason' in body.data.app).toBe(state === 'rejected')
}

/** RFC 9110, section 8.8.3.2. */
function isOneOf(
  etag: string | undefined,
  header: string | undefined,
  how: 'weakly' | 'strongly',
): boolean {
  if (header === '*') return true
  const tags = header?.split(',').map((tag) => tag.trim()) ?? []
  return (
    etag !== undefined &&
    tags.some((tag) => (how === 'weakly' ? tag.replace(/^W\//, '') : tag) === etag)
  )
}
