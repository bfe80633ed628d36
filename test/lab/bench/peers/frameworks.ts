import addFormats from 'ajv-formats'
import express, { type Response } from 'express'
import knex from 'knex'
import { type Context, OpenAPIBackend, type Request } from 'openapi-backend'
import document from '../../../../generated/openapi.json' with { type: 'json' }

/**
 * The same reads of the same database, by the same document, written with Express, openapi-backend
 * and Knex as their READMEs show. It has no cache, Link, search, keys or access log.
 */

const db = knex({
  client: 'sqlite3',
  connection: { filename: process.argv[2] ?? '' },
  useNullAsDefault: true,
})

const orders = {
  latest: ['approved_at', 'apps.id'],
  popular: ['total_downloads', 'apps.id'],
  rating: ['weighted_rating', 'rating_count', 'apps.id'],
}
const descending = (columns: string[]) => columns.map((column) => ({ column, order: 'desc' }))

const joined: Record<string, string> = {
  developer_name: 'developers.name',
  category_name: 'categories.name',
  category_slug: 'categories.slug',
}
const columnsOf = ({ properties }: { properties: object }) =>
  Object.keys(properties)
    .filter((field) => field !== 'reviews')
    .map((field) => `${joined[field] ?? `apps.${field}`} as ${field}`)
const { AppSummary, App } = document.components.schemas

const listedApps = () => db('apps').where({ status: 'approved', deleted_at: null })
const withNames = (apps: ReturnType<typeof listedApps>) =>
  apps
    .join('developers', 'developers.id', 'developer_id')
    .join('categories', 'categories.id', 'category_id')

/** The document has no nulls. */
const withoutNulls = (row: object) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))

/** As openapi-backend has validated it by the document. */
type ListQuery = { page?: string; limit?: string; category?: string; sort?: keyof typeof orders }

async function listApps({ request }: Context, _request: unknown, response: Response) {
  const { category, sort = 'latest', ...numbers } = request.query as ListQuery
  const page = Number(numbers.page ?? 1)
  const limit = Number(numbers.limit ?? 20)
  const apps = listedApps()
  if (category) apps.where('category_id', db('categories').where('slug', category).select('id'))
  const [count] = await apps.clone().count({ listed: '*' })
  const rows = await withNames(apps)
    .select(columnsOf(AppSummary))
    .orderBy(descending(orders[sort]))
    .limit(limit)
    .offset((page - 1) * limit)
  const total = Math.ceil(Number(count?.listed) / limit)
  const pagination = { current_page: page, total_pages: total, per_page: limit }
  const data = { apps: rows.map(withoutNulls), pagination }
  response.json({ success: true, message: `Page ${page} of ${total}.`, data })
}

async function getApp({ request }: Context, expressRequest: unknown, response: Response) {
  const id = Number(request.params.id)
  const row = await withNames(listedApps()).where('apps.id', id).first(columnsOf(App))
  if (!row) return notFound({}, expressRequest, response)
  const reviews = await db('reviews')
    .where({ app_id: id })
    .select('id', 'reviewer_name', 'rating', 'comment', 'created_at')
    .orderBy(descending(['created_at', 'id']))
    .limit(100)
  const app = { ...withoutNulls(row), reviews }
  response.json({ success: true, message: 'App found.', data: { app } })
}

function notFound(_context: unknown, _request: unknown, response: Response) {
  response.status(404).json({ success: false, message: 'Not found.', data: { code: 'not_found' } })
}

function validationFail({ validation }: Context, _request: unknown, response: Response) {
  const data = { code: 'invalid_request', errors: validation.errors }
  response.status(400).json({ success: false, message: 'The request is invalid.', data })
}

const api = new OpenAPIBackend({
  definition: `${import.meta.dirname}/../../../../generated/openapi.json`,
  customizeAjv: (ajv) => addFormats.default(ajv),
  handlers: { listApps, getApp, notFound, validationFail },
})
await api.init()

const app = express()
app.use(express.json())
app.use((request, response) => api.handleRequest(request as Request, request, response))
app.listen(Number(process.env.PORT), '127.0.0.1')
