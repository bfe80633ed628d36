import type { Actor } from '../actor.ts'
import { auditStore } from '../audit/store.ts'
import type { Category } from '../contract.ts'
import { type Connection, rethrowViolation } from '../db/open.ts'
import { ServiceError } from '../errors.ts'
import { nameFrom } from '../names.ts'

export const categoryStore = (connection: Connection) => ({
  /** By name. */
  all(): Promise<Category[]> {
    return connection.sql('categories').orderBy('name').select('id', 'slug', 'name')
  },

  /** By name, with how many apps are in each: those the public sees, and those in any state, deleted ones too. */
  overview(): Promise<(Category & { listed_apps: number; all_apps: number })[]> {
    const { sql } = connection
    const counts = sql('apps').groupBy('category_id').select('category_id').count({ all_apps: '*' }).as('counts')
    return sql('categories')
      .leftJoin(counts, 'counts.category_id', 'categories.id')
      .orderBy('name')
      .select('id', 'slug', 'name', 'listed_apps', sql.raw('coalesce(all_apps, 0) as all_apps'))
  },

  async has(id: number): Promise<boolean> {
    return (await connection.sql('categories').where({ id }).first('id')) !== undefined
  },

  /** Throws `refused` where the slug or the name cannot be one or is another category's. */
  async add(slug: string, text: string, actor: Actor, id?: number): Promise<Category> {
    const name = nameFrom(text, 'a category name')
    demandSlug(slug)
    const rows = await connection
      .sql('categories')
      .insert({ slug, name, ...(id !== undefined && { id }) })
      .returning(['id', 'slug', 'name'])
      .catch((error: unknown) => taken(error, { slug, name }))
    const [category] = rows
    if (!category) throw new Error('the insert returned no category')
    await auditStore(connection).record(
      [
        {
          action: 'category add',
          at: new Date().toISOString(),
          subject: { category_id: category.id },
          after: { slug, name },
        },
      ],
      actor,
    )
    return category
  },

  /** The slug stays where no other is given. Throws `refused` as `add` does, and where nothing would change. */
  async rename(slug: string, changes: { name: string; slug?: string | undefined }, actor: Actor): Promise<Category> {
    const { sql } = connection
    const before = await sql('categories').where({ slug }).first('id', 'slug', 'name')
    if (!before) throw new ServiceError('refused', `there is no category with the slug ${slug}`)
    const after = { slug: changes.slug ?? slug, name: nameFrom(changes.name, 'a category name') }
    demandSlug(after.slug)
    const columns = (['slug', 'name'] as const).filter((column) => before[column] !== after[column])
    if (columns.length === 0) throw new ServiceError('refused', `the category ${slug} is named so already`)
    await sql('categories')
      .where({ id: before.id })
      .update(after)
      .catch((error: unknown) => taken(error, after))
    const pick = (row: typeof after) => Object.fromEntries(columns.map((column) => [column, row[column]]))
    await auditStore(connection).record(
      [
        {
          action: 'category rename',
          at: new Date().toISOString(),
          subject: { category_id: before.id },
          before: pick(before),
          after: pick(after),
        },
      ],
      actor,
    )
    return { id: before.id, ...after }
  },
})

function demandSlug(slug: string) {
  if (/^[a-z0-9]+(-[a-z0-9]+)*$/.test(slug) && slug.length <= 80) return
  throw new ServiceError(
    'refused',
    `the slug must be lower-case letters and digits with single hyphens between, not ${JSON.stringify(slug)}`,
  )
}

function taken(error: unknown, { slug, name }: { slug: string; name: string }): never {
  const meaning = (what: string) => () => new ServiceError('refused', `there is already a category with ${what}`)
  return rethrowViolation(error, {
    'categories.slug': meaning(`the slug ${slug}`),
    'categories.name': meaning(`the name ${name}`),
  })
}
