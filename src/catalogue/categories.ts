import { type Actor, auditStore } from '../audit/store.ts'
import type { Category } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import { assertSlug, maxCategories, parseCategoryName } from '../contract/field-rules.ts'
import type { Connection } from '../db/dialect.ts'
import type { CategoryRow } from '../db/tables.ts'
import { required } from '../util/helpers.ts'

export const categoryStore = (connection: Connection) => ({
  /** By name. */
  all(): Promise<Category[]> {
    return connection.sql('categories').orderBy('name').select('id', 'slug', 'name')
  },

  /** By name, with how many apps are in each: those the public sees, and those in any state, deleted ones too. */
  listWithCounts(): Promise<(Category & { listed_apps: number; all_apps: number })[]> {
    const { sql } = connection
    const counts = sql('apps').groupBy('category_id').select('category_id').count({ all_apps: '*' }).as('counts')
    return sql('categories')
      .leftJoin(counts, 'counts.category_id', 'categories.id')
      .orderBy('name')
      .select('id', 'slug', 'name', 'listed_apps', sql.raw('coalesce(all_apps, 0) as all_apps'))
  },

  /** Throws an OperatorError if it does not exist. */
  async requireCategory(slug: string): Promise<Category> {
    const category = await connection.sql('categories').where({ slug }).first('id', 'slug', 'name')
    if (!category) throw categoryNotFound(slug)
    return category
  },

  async exists(id: number): Promise<boolean> {
    return (await connection.sql('categories').where({ id }).first('id')) !== undefined
  },

  /** Throws an OperatorError if the slug or name is invalid or taken, or there are too many categories for a response. */
  async add(
    slug: string,
    text: string,
    actor: Actor,
    { id, created_at }: { id?: number | undefined; created_at?: string | undefined } = {},
  ): Promise<Category> {
    const name = parseCategoryName(text)
    assertSlug(slug)
    const { sql } = connection
    const [all] = await sql('categories').count({ count: '*' })
    if (Number(all?.count) >= maxCategories) {
      throw new OperatorError(
        `there are ${maxCategories} categories, and there can be no more; rename one that is not needed`,
      )
    }
    const now = new Date().toISOString()
    const row = { id, slug, name, created_at: created_at ?? now, changed_at: now }
    const [inserted] = await connection.mapUniqueViolation(
      () => connection.insertRows('categories', [row]),
      uniqueViolationErrors(row),
    )
    const category = { id: required(inserted, 'the inserted category').id, slug, name }
    await auditStore(connection).record(
      [
        {
          action: 'category add',
          at: now,
          subject: { category_id: category.id },
          after: { slug, name },
        },
      ],
      actor,
    )
    return category
  },

  /** Locks all categories until the transaction ends. */
  lockAll(): Promise<Pick<CategoryRow, 'id' | 'slug' | 'name' | 'created_at'>[]> {
    return connection.sql('categories').orderBy('id').forUpdate().select('id', 'slug', 'name', 'created_at')
  },

  /** Renames several categories, which may exchange their slugs and names. */
  async renameAll(renames: { before: Category; after: { slug: string; name: string } }[], actor: Actor) {
    const { sql } = connection
    const at = new Date().toISOString()
    // Temporary values that no valid slug or name equals.
    for (const { before } of renames) {
      await sql('categories')
        .where({ id: before.id })
        .update({ slug: `~${before.id}`, name: `\n${before.id}` })
    }
    for (const { before, after } of renames) {
      await sql('categories')
        .where({ id: before.id })
        .update({ ...after, changed_at: at })
    }
    await auditStore(connection).record(
      renames.map(({ before, after }) => ({
        action: 'category rename',
        at,
        subject: { category_id: before.id },
        ...changedNames(before, after),
      })),
      actor,
    )
  },

  /** Throws an OperatorError as `add` does, and if nothing would change. */
  async rename(slug: string, changes: { name: string; slug?: string | undefined }, actor: Actor): Promise<Category> {
    const { sql } = connection
    const before = await sql('categories').where({ slug }).forUpdate().first('id', 'slug', 'name')
    if (!before) throw categoryNotFound(slug)
    const after = { slug: changes.slug ?? slug, name: parseCategoryName(changes.name) }
    assertSlug(after.slug)
    const difference = changedNames(before, after)
    if (Object.keys(difference.after).length === 0) throw new OperatorError(`the category ${slug} is named so already`)
    const changed_at = new Date().toISOString()
    await connection.mapUniqueViolation(
      () =>
        sql('categories')
          .where({ id: before.id })
          .update({ ...after, changed_at }),
      uniqueViolationErrors(after),
    )
    await auditStore(connection).record(
      [
        {
          action: 'category rename',
          at: new Date().toISOString(),
          subject: { category_id: before.id },
          ...difference,
        },
      ],
      actor,
    )
    return { id: before.id, ...after }
  },
})

const categoryNotFound = (slug: string) => new OperatorError(`there is no category with the slug ${slug}`)

type Names = { slug: string; name: string }

/** The columns that differ, for the audit. */
function changedNames(before: Names, after: Names) {
  const columns = (['slug', 'name'] as const).filter((column) => before[column] !== after[column])
  const pick = (row: Names) => Object.fromEntries(columns.map((column) => [column, row[column]]))
  return { before: pick(before), after: pick(after) }
}

function uniqueViolationErrors({ slug, name }: { slug: string; name: string }) {
  const alreadyExists = (what: string) => () => new OperatorError(`there is already a category with ${what}`)
  return { 'categories.slug': alreadyExists(`the slug ${slug}`), 'categories.name': alreadyExists(`the name ${name}`) }
}
