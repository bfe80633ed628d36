import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import fastJson from 'fast-json-stringify'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'

/**
 * The same reads on the same database, written for speed only: fastify, SQLite on the main thread,
 * prepared statements, compiled JSON schemas. It has no search, no keys and no access log.
 */

const [databaseFile = ''] = process.argv.slice(2)
const port = Number(process.env.PORT)

const database = new DatabaseSync(databaseFile)
// More cache than the service's connections have together; mmap avoids copies from the file.
database.exec(
  'pragma query_only = 1; pragma cache_size = -98304; pragma mmap_size = 1073741824; pragma temp_store = 2',
)

type Query = { page: number; limit: number; category?: string; sort?: Sort }
type Sort = keyof typeof orders

const orders = {
  latest: ['approved_at', 'id'],
  popular: ['total_downloads', 'id'],
  rating: ['weighted_rating', 'rating_count', 'id'],
}

const sorts = Object.keys(orders) as Sort[]

/**
 * Finds the ids of a page in an index, then reads only their rows. With `limit ?` instead of `limit
 * ?+0`, SQLite would plan the statement again for each request.
 */
function pageStatement(order: string[], where: string) {
  const by = `order by ${order.map((column) => `apps.${column} desc`)}`
  return database.prepare(
    `select apps.id, apps.name, apps.slug, apps.description, developers.name as developer_name,
       categories.name as category_name, apps.total_downloads, apps.average_rating, apps.icon_url
     from (select id from apps where status = 'approved' and deleted_at is null ${where} ${by} limit ?+0 offset ?) as page
     join apps on apps.id = page.id
     join developers on developers.id = apps.developer_id
     join categories on categories.id = apps.category_id ${by}`,
  )
}

const bySort = <T>(make: (order: string[]) => T) =>
  new Map(sorts.map((sort) => [sort, make(orders[sort])]))
const ofAll = bySort((order) => pageStatement(order, ''))
const ofCategory = bySort((order) => pageStatement(order, 'and category_id = ?'))
const listedOfAll = database.prepare('select sum(listed_apps) as listed from categories')
const listedOfCategory = database.prepare(
  'select id, listed_apps as listed from categories where slug = ?',
)
const one = database.prepare(
  `select apps.id, apps.name, apps.slug, description, developers.name as developer_name,
     categories.name as category_name, total_downloads, average_rating, icon_url, short_description,
     version, package_name, status, category_id, categories.slug as category_slug, apps.created_at,
     updated_at, approved_at, rating_count, review_count
   from apps join developers on developers.id = developer_id join categories on categories.id = category_id
   where apps.id = ? and status = 'approved' and deleted_at is null`,
)
const reviewsOf = database.prepare(
  `select id, reviewer_name, rating, comment, created_at from reviews
   where app_id = ? order by created_at desc, id desc limit 100`,
)

const integer = { type: 'integer' }
const number = { type: 'number' }
const text = { type: 'string' }
const object = (properties: Record<string, object>) => ({ type: 'object' as const, properties })
const listOf = (items: object) => ({ type: 'array', items })

const summary = {
  id: integer,
  name: text,
  slug: text,
  description: text,
  developer_name: text,
  category_name: text,
  total_downloads: integer,
  average_rating: number,
  icon_url: text,
}
const review = {
  id: integer,
  reviewer_name: text,
  rating: integer,
  comment: text,
  created_at: text,
}
const app = {
  ...summary,
  short_description: text,
  version: text,
  package_name: text,
  status: text,
  category_id: integer,
  category_slug: text,
  created_at: text,
  updated_at: text,
  approved_at: text,
  rating_count: integer,
  review_count: integer,
  reviews: listOf(object(review)),
}
const pagination = { current_page: integer, total_pages: integer, per_page: integer }

const listText = fastJson(object({ apps: listOf(object(summary)), pagination: object(pagination) }))
const itemText = fastJson(object({ app: object(app) }))

const server = fastify({ ajv: { customOptions: { removeAdditional: false } } })

const query = {
  ...object({
    page: { ...integer, minimum: 1, default: 1 },
    limit: { ...integer, minimum: 1, maximum: 100, default: 20 },
    category: text,
    sort: { ...text, enum: sorts },
  }),
  additionalProperties: false,
}

server.get<{ Querystring: Query }>(
  '/apps',
  { schema: { querystring: query } },
  (request, reply) => {
    const { page, limit, category, sort = 'latest' } = request.query
    const offset = (page - 1) * limit
    const scope = category === undefined ? listedOfAll.get() : listedOfCategory.get(category)
    const listed = Number(scope?.listed ?? 0)
    const total = Math.ceil(listed / limit)
    const rows =
      listed === 0
        ? []
        : category === undefined
          ? ofAll.get(sort)?.all(limit, offset)
          : ofCategory.get(sort)?.all(Number(scope?.id), limit, offset)
    const content = listText({
      apps: rows?.map(withoutNulls),
      pagination: { current_page: page, total_pages: total, per_page: limit },
    })
    reply.header('Link', linksOf(request.query, total))
    const emptyMessage = scope
      ? 'No apps match.'
      : `No category has the slug "${category}"; GET /categories lists them.`
    return send(request, reply, listed === 0 ? emptyMessage : `Page ${page} of ${total}.`, content)
  },
)

server.get<{ Params: { id: number } }>(
  '/apps/:id',
  { schema: { params: object({ id: integer }) } },
  (request, reply) => {
    const row = one.get(request.params.id)
    if (!row) return reply.callNotFound()
    const app = { ...withoutNulls(row), reviews: reviewsOf.all(request.params.id) }
    return send(request, reply, 'App found.', itemText({ app }))
  },
)

server.setNotFoundHandler((_request, reply) => {
  reply.code(404).send({
    success: false,
    message: 'Not found; check the path and the id.',
    data: { code: 'not_found' },
  })
})

/** The serializer would write null as an empty string. */
const withoutNulls = (row: object) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))

function send(request: FastifyRequest, reply: FastifyReply, message: string, data: string) {
  const etag = `"${hash('sha256', data, 'base64url').slice(0, 27)}"`
  reply.header('ETag', etag).header('Cache-Control', 'public, no-cache')
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  return reply
    .header('Content-Type', 'application/json; charset=utf-8')
    .send(`{"success":true,"message":${JSON.stringify(message)},"data":${data}}`)
}

function linksOf({ page, ...query }: Query, total: number): string {
  const address = `http://localhost:${port}/apps`
  const rest = Object.entries(query).map(([name, value]) => `&${name}=${encodeURIComponent(value)}`)
  const link = (target: number, relation: string) =>
    `<${address}?page=${target}${rest.join('')}>; rel="${relation}"`
  const links = [link(1, 'first')]
  if (page > 1) links.push(link(Math.max(1, Math.min(page - 1, total)), 'prev'))
  if (page < total) links.push(link(page + 1, 'next'))
  if (total > 0) links.push(link(total, 'last'))
  return links.join(', ')
}

await server.listen({ port, host: '127.0.0.1' })
