import DataLoader from 'dataloader'
import document from '../../generated/openapi.json' with { type: 'json' }
import { defaultVersion, type OwnerColumn } from '../catalogue/app-columns.ts'
import { type AppPage, findAppPage } from '../catalogue/app-list.ts'
import {
  type AppRowChanges,
  type AppWithReviews,
  findApp,
  findListedApps,
  hasChanges,
  insertApp,
  insertApps,
  type NewAppRow,
  saveApp,
  timestampAfter,
} from '../catalogue/app-store.ts'
import { findCategories, findCategoriesWithListedCount } from '../catalogue/category-store.ts'
import { type CreateRequest, createOnce } from '../catalogue/idempotency.ts'
import { parseKeywords, storedKeywords } from '../catalogue/keywords.ts'
import { findOwnApps } from '../catalogue/own-apps.ts'
import { assertOwner, mergeUnreviewed, statusAfterUpdate } from '../catalogue/policy.ts'
import type {
  App,
  AppChanges,
  AppSummary,
  Caller,
  Handlers,
  OwnApp,
  Pagination,
} from '../contract/contract.ts'
import { notFound, ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { AppRow, Nullable } from '../db/rows.ts'
import { required } from '../util/helpers.ts'
import { etagOfResponse, satisfiesIfMatch, strongestTag } from './response.ts'

/**
 * The handlers of the OpenAPI document's operations, by `operationId`. They get authenticated and
 * valid requests, and return values or throw. `Location` and `Link` begin with `baseUrl`.
 */
export function createHandlers(database: Database, baseUrl: string): Handlers {
  const listedApps = listedAppLoader(database)
  const createApp = database.batchedWrite((runner, requests: readonly CreateRequest[]) =>
    insertApps(runner, requests.map(newApp)),
  )

  return {
    async listApps({ query, signal }) {
      const { apps, search, ...found } = await findAppPage(database, query, signal)
      const pagination = paginate(query, found.total)
      return {
        status: 200,
        headers: {
          Link: pageLinks(`${baseUrl}/apps`, query, pagination),
          'X-Total-Count': found.total,
        },
        body: {
          message: listMessage(query.category, pagination, found),
          data: { apps: apps.map(appSummary), pagination, ...(search && { search }) },
        },
      }
    },

    async listCategories({ signal }) {
      const categories = await database.read(findCategoriesWithListedCount, {
        signal,
      })
      const count = categories.length
      return {
        status: 200,
        headers: {},
        body: {
          message: count === 1 ? '1 category.' : `${count} categories.`,
          data: { categories },
        },
      }
    },

    async listOwnApps({ caller, query, signal }) {
      const { apps, total } = await findOwnApps(database, caller, query, signal)
      const pagination = paginate(query, total)
      const kind = query.status === undefined ? '' : `${query.status} `
      return {
        status: 200,
        headers: {
          Link: pageLinks(`${baseUrl}/developer/apps`, query, pagination),
          'X-Total-Count': total,
        },
        body: {
          message: total === 0 ? `You have no ${kind}apps.` : pageMessage(pagination),
          data: { apps: apps.map(ownApp), pagination },
        },
      }
    },

    async getApp({ caller, path, signal }) {
      const app = caller
        ? await database.read((runner) => findApp(runner, path.id, { visibleTo: caller }), {
            signal,
          })
        : await listedApps.load(path.id)
      if (!app) throw notFound()
      return { status: 200, headers: {}, body: found(app) }
    },

    async createApp({ caller, header, body, signal }) {
      const request = { caller, body: { version: defaultVersion, ...body } }
      const key = header['Idempotency-Key']
      const created = await (key === undefined
        ? createApp(request, { signal })
        : createAppOnce(database, request, key, signal)
      ).catch((error) => explainUnknownCategory(database, error, body.category_id))
      const { id, slug } = created
      return {
        status: 201,
        headers: { Location: `${baseUrl}/apps/${id}` },
        body: {
          message: 'App created; it awaits admin approval.',
          data: { app_id: id, slug, status: 'pending' },
        },
      }
    },

    async updateApp({ caller, path, header, body, signal }) {
      const app = await database
        .write(
          async (runner) => {
            const app = await lockOwnApp(runner, path.id, caller, header['If-Match'])
            const saved = await saveApp(runner, 'app update', app, rowChanges(app, body), caller)
            if (saved.category_id === app.category_id) return { ...app, ...saved }
            return required(await findApp(runner, path.id), 'the updated app')
          },
          { signal, app: path.id },
        )
        .catch((error) => explainUnknownCategory(database, error, body.category_id))
      const data = { app: appDetail(app) }
      return {
        status: 200,
        headers: { ETag: etagOfApp(app) },
        body: { message: 'App updated.', data },
      }
    },

    async deleteApp({ caller, path, header, signal }) {
      await database.write(
        async (runner) => {
          const app = await lockOwnApp(runner, path.id, caller, header['If-Match'])
          await saveApp(runner, 'app delete', app, { deleted_at: new Date().toISOString() }, caller)
        },
        { signal, app: path.id },
      )
      return {
        status: 200,
        headers: {},
        body: { message: 'App deleted.', data: { app_id: path.id } },
      }
    },
  }
}

/** Apps per statement: with 8, an app costs a sixth more. Each number is another prepared statement. */
const maxBatchSize = 32

/**
 * Reads that begin in one turn of the event loop share a statement, which gives 40 % more uncached
 * reads.
 */
const listedAppLoader = (database: Database) =>
  new DataLoader(
    async (ids: readonly number[]) => {
      const apps = await database.read((runner) => findListedApps(runner, ids))
      return ids.map((id) => apps.find((app) => app.id === id))
    },
    { cache: false, maxBatchSize, batchScheduleFn: setImmediate },
  )

const createAppOnce = (
  database: Database,
  request: CreateRequest,
  key: string,
  signal: AbortSignal,
) =>
  database.write(
    (runner) =>
      createOnce(runner, request, key, async () => {
        const { app, actor } = newApp(request)
        return insertApp(runner, app, actor)
      }),
    { signal },
  )

/**
 * Throws `unknown_category` if a foreign key has rejected the category, which does not exist or was
 * removed during the request; otherwise the error itself.
 */
async function explainUnknownCategory(
  database: Database,
  error: unknown,
  id: number | undefined,
): Promise<never> {
  if (id === undefined || !database.explain(error).violatesForeignKey) throw error
  const categories = await database.read(findCategories)
  if (categories.some((category) => category.id === id)) throw error
  throw new ServiceError(
    'unknown_category',
    `Category ${id} does not exist; data.categories lists those that do.`,
    {
      errors: [{ in: 'body', field: '/category_id', message: 'must be the id of a category' }],
      categories,
    },
  )
}

const { schemas } = document.components

/** The app as the list has it. */
const appSummary = fieldPicker<AppSummary>(schemas.AppSummary)

/** The app as callers see it. */
const appDetail = fieldPicker<App>(schemas.App)

/** The app as its owner's list has it. */
const ownApp = fieldPicker<OwnApp>(schemas.OwnApp)

/**
 * Returns a function that takes the fields of a schema from a row, in the document's order. The
 * database has nulls, the contract optional fields.
 */
function fieldPicker<T>({ properties }: { properties: Record<keyof T, unknown> }) {
  const names = Object.keys(properties) as (keyof T)[]
  return (row: Nullable<T>): T => {
    const fields = names
      .map((name) => [name, toField(name, row[name])])
      .filter(([, value]) => value !== null)
    // Only optional fields can be null, so the rest is a T.
    return Object.fromEntries(fields) as T
  }
}

const toField = (name: unknown, value: unknown) =>
  name === 'keywords' && typeof value === 'string' ? parseKeywords(value) : value

/** The response of `getApp`. */
const found = (app: AppWithReviews) => ({ message: 'App found.', data: { app: appDetail(app) } })

/** The ETag of that response. */
const etagOfApp = (app: AppWithReviews) => etagOfResponse(found(app))

type OwnerValues<Fields> = { [Field in keyof Fields & OwnerColumn]: AppRow[Field] }

/** An owner's fields as columns: texts are trimmed, and an empty one is removed. */
function ownerValues<Fields extends AppChanges>(fields: Fields): OwnerValues<Fields> {
  const values = Object.entries(fields).map(([column, value]) => [
    column,
    Array.isArray(value)
      ? storedKeywords(value)
      : typeof value === 'string'
        ? value.trim() || null
        : value,
  ])
  // Valid fields, of which only those that may be removed can be empty.
  return Object.fromEntries(values) as OwnerValues<Fields>
}

function newApp({ caller, body }: CreateRequest): { app: NewAppRow; actor: Caller } {
  const now = new Date().toISOString()
  const app: NewAppRow = {
    ...ownerValues(body),
    developer_id: caller.developerId,
    status: 'pending',
    created_at: now,
    updated_at: now,
    total_downloads: 0,
  }
  return { app, actor: caller }
}

function rowChanges(app: AppWithReviews, body: AppChanges): AppRowChanges {
  const changes = {
    ...ownerValues(body),
    status: statusAfterUpdate(app.status),
    rejection_reason: null,
  }
  // Changes to a decided app wait for a review. An app without a decision is in the queue already.
  const isNew = app.status === 'pending' && app.unreviewed_since === null
  if (isNew || !hasChanges(app, changes)) return changes
  const now = timestampAfter(app.updated_at)
  return {
    ...changes,
    updated_at: now,
    unreviewed_since: app.unreviewed_since ?? now,
    unreviewed_changes: mergeUnreviewed(app, changes),
  }
}

/** The caller's own app, locked until the transaction ends. Throws if If-Match does not hold. */
async function lockOwnApp(
  runner: QueryRunner,
  id: number,
  caller: Caller,
  ifMatch: string | undefined,
): Promise<AppWithReviews> {
  const app = await findApp(runner, id, { forUpdate: true, visibleTo: caller })
  if (!app) throw notFound()
  assertOwner(caller, app)
  assertUnmodified(app, ifMatch)
  return app
}

/** If-Match refers to the representation that GET returns (RFC 9110, section 13.1.1). */
function assertUnmodified(app: AppWithReviews, ifMatch: string | undefined) {
  if (ifMatch === undefined || satisfiesIfMatch(ifMatch, etagOfApp(app))) return
  throw new ServiceError('precondition_failed', mismatchMessages[strongestTag(ifMatch)])
}

const mismatchMessages = {
  strong: 'The app has changed since you read it; read it again and repeat the change.',
  weak: 'If-Match cannot match a weak ETag (W/). Read the app with Accept-Encoding: identity, and send the ETag of that response.',
  none: 'If-Match must be an ETag as you received it, with its quotes; or several, or * alone.',
}

type PageQuery = { page: number; limit: number }

const paginate = ({ page, limit }: PageQuery, total: number): Pagination => ({
  current_page: page,
  total_pages: Math.ceil(total / limit),
  per_page: limit,
})

const pageMessage = ({ current_page, total_pages }: Pagination) =>
  `Page ${current_page} of ${total_pages}.`

function listMessage(
  category: string | undefined,
  pagination: Pagination,
  { total, notes = [], isUnknownCategory, emptyParameters = [] }: Omit<AppPage, 'apps'>,
): string {
  if (emptyParameters.length > 0)
    return emptyParameters
      .map((name) => `${name} is empty, so no app matches; set it, or leave it out.`)
      .join(' ')
  if (isUnknownCategory)
    return `No category has the slug "${category}"; GET /categories lists them.`
  return total === 0 ? 'No apps match.' : [...notes, pageMessage(pagination)].join(' ')
}

/** A Link header (RFC 8288). The URL of each page keeps the other parameters. */
function pageLinks(
  address: string,
  query: PageQuery,
  { total_pages: totalPages }: Pagination,
): string {
  const { page } = query
  const targets = {
    first: 1,
    ...(page > 1 && { prev: Math.max(1, Math.min(page - 1, totalPages)) }),
    ...(page < totalPages && { next: page + 1 }),
    ...(totalPages > 0 && { last: totalPages }),
  }
  const parameters = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  const link = ([relation, target]: [string, number]) => {
    parameters.set('page', String(target))
    return `<${address}?${parameters}>; rel="${relation}"`
  }
  return Object.entries(targets).map(link).join(', ')
}
