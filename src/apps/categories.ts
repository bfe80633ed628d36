import type { Actor } from '../actor.ts'
import { auditStore } from '../audit/store.ts'
import type { Category } from '../contract.ts'
import type { Connection } from '../db/dialect.ts'
import { Refusal } from '../errors.ts'
import { categoryNameFrom, demandSlug, mostCategories } from '../rules.ts'

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

  /** Refuses where there is none of this slug. */
  async demandCategory(slug: string): Promise<Category> {
    const category = await connection.sql('categories').where({ slug }).first('id', 'slug', 'name')
    if (!category) throw noSuchCategory(slug)
    return category
  },

  async has(id: number): Promise<boolean> {
    return (await connection.sql('categories').where({ id }).first('id')) !== undefined
  },

  /** Refuses a slug or a name that cannot be one or is another category's, and one category more than an answer can list. */
  async add(slug: string, text: string, actor: Actor, id?: number): Promise<Category> {
    const name = categoryNameFrom(text)
    demandSlug(slug)
    const { sql } = connection
    const [all] = await sql('categories').count({ count: '*' })
    if (Number(all?.count) >= mostCategories) {
      throw new Refusal(
        `there are ${mostCategories} categories, and there can be no more; rename one that is not needed`,
      )
    }
    const row = { id, slug, name }
    const ids = await connection.attempt(() => connection.insertRows('categories', [row], 'slug'), meanings(row))
    const category = { id: ids.get(slug) ?? 0, slug, name }
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

  /** The slug stays where no other is given. Refuses as `add` does, and where nothing would change. */
  async rename(slug: string, changes: { name: string; slug?: string | undefined }, actor: Actor): Promise<Category> {
    const { sql } = connection
    const before = await sql('categories').where({ slug }).forUpdate().first('id', 'slug', 'name')
    if (!before) throw noSuchCategory(slug)
    const after = { slug: changes.slug ?? slug, name: categoryNameFrom(changes.name) }
    demandSlug(after.slug)
    const columns = (['slug', 'name'] as const).filter((column) => before[column] !== after[column])
    if (columns.length === 0) throw new Refusal(`the category ${slug} is named so already`)
    await connection.attempt(() => sql('categories').where({ id: before.id }).update(after), meanings(after))
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

const noSuchCategory = (slug: string) => new Refusal(`there is no category with the slug ${slug}`)

function meanings({ slug, name }: { slug: string; name: string }) {
  const another = (what: string) => () => new Refusal(`there is already a category with ${what}`)
  return { 'categories.slug': another(`the slug ${slug}`), 'categories.name': another(`the name ${name}`) }
}
