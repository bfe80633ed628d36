import { type Actor, difference, recordEntry } from '../audit/audit-store.ts'
import type { Category, CountedCategory } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import { assertSlug, maxCategories, parseCategoryName } from '../contract/field-rules.ts'
import { countRows, type QueryRunner } from '../db/engine.ts'
import { Conflict } from '../db/error-meaning.ts'
import { required } from '../util/helpers.ts'

type Names = Pick<Category, 'slug' | 'name'>

const categoryNotFound = (slug: string) =>
  new OperatorError(`there is no category with the slug ${slug}`)

/** By name. */
export const findCategories = ({ sql }: QueryRunner): Promise<Category[]> =>
  sql('categories').orderBy('name').select('id', 'slug', 'name')

/** By name, each with the number of its listed apps. */
export const findCategoriesWithListedCount = ({ sql }: QueryRunner): Promise<CountedCategory[]> =>
  sql('categories').orderBy('name').select('id', 'slug', 'name', 'listed_apps as app_count')

/**
 * By name, with how many apps are in each: those the public sees, and those in any state, deleted
 * ones too.
 */
export function findCategoriesWithCounts({
  sql,
}: QueryRunner): Promise<(Category & { listed_apps: number; all_apps: number })[]> {
  const counts = sql('apps')
    .groupBy('category_id')
    .select('category_id')
    .count({ all_apps: '*' })
    .as('counts')
  return sql('categories')
    .leftJoin(counts, 'counts.category_id', 'categories.id')
    .orderBy('name')
    .select('id', 'slug', 'name', 'listed_apps', sql.raw('coalesce(all_apps, 0) as all_apps'))
}

/** Throws an OperatorError if it does not exist. */
export async function requireCategory({ sql }: QueryRunner, slug: string): Promise<Category> {
  const category = await sql('categories').where({ slug }).first('id', 'slug', 'name')
  if (!category) throw categoryNotFound(slug)
  return category
}

/**
 * Throws an OperatorError if the slug or name is invalid or taken, or there are too many categories
 * for a response.
 */
export async function addCategory(
  runner: QueryRunner,
  slug: string,
  text: string,
  actor: Actor,
  { id, created_at }: { id?: number | undefined; created_at?: string | undefined } = {},
): Promise<Category> {
  const name = parseCategoryName(text)
  assertSlug(slug)
  if ((await countRows(runner.sql('categories'))) >= maxCategories) {
    throw new OperatorError(
      `there are ${maxCategories} categories, which is the maximum; rename or remove one`,
    )
  }
  const now = new Date().toISOString()
  const rows = [{ id, slug, name, created_at: created_at ?? now, changed_at: now }]
  await assertFree(runner, { slug, name })
  runner.markPublicChange()
  const [inserted] = await runner.insertRows('categories', rows)
  const category = { id: required(inserted, 'the inserted category').id, slug, name }
  await recordEntry(runner, actor, {
    action: 'category add',
    at: now,
    category_id: category.id,
    after: { slug, name },
  })
  return category
}

/** Throws an OperatorError as `addCategory` does, and if nothing would change. */
export async function renameCategory(
  runner: QueryRunner,
  slug: string,
  changes: { name: string; slug?: string | undefined },
  actor: Actor,
): Promise<Category> {
  const before = await requireCategory(runner, slug)
  const after = { slug: changes.slug ?? slug, name: parseCategoryName(changes.name) }
  assertSlug(after.slug)
  if (after.slug === slug && after.name === before.name)
    throw new OperatorError(
      `the category ${slug} already has the name ${JSON.stringify(after.name)}`,
    )
  await updateCategory(runner, before, after, actor)
  return { id: before.id, ...after }
}

/**
 * Gives a category other names. Throws an OperatorError if another one has them, a `Conflict` if
 * the category is no longer as in `before`. It is not locked before: PostgreSQL's lock for another
 * slug is stronger, and an app that comes into the category could get its own between the two.
 */
export async function updateCategory(
  runner: QueryRunner,
  before: Category,
  after: Names,
  actor: Actor,
): Promise<void> {
  await assertFree(runner, after, before.id)
  runner.markPublicChange()
  const at = new Date().toISOString()
  const updated = await runner
    .sql('categories')
    .where(before)
    .update({ ...after, changed_at: at })
  if (updated === 0) throw new Conflict(`the category ${before.id} has changed`)
  await recordEntry(runner, actor, {
    action: 'category rename',
    at,
    category_id: before.id,
    ...difference<Names>(before, after, ['slug', 'name']),
  })
}

/**
 * Throws an OperatorError if there is no such category; a foreign key rejects one with apps, even
 * deleted ones.
 */
export async function removeCategory(
  runner: QueryRunner,
  slug: string,
  actor: Actor,
): Promise<Category> {
  // In one statement, for the reason of `updateCategory`.
  const [category] = await runner.rows<Category>(
    'delete from categories where slug = ? returning id, slug, name',
    [slug],
  )
  if (!category) throw categoryNotFound(slug)
  const { id, name } = category
  runner.markPublicChange()
  await recordEntry(runner, actor, {
    action: 'category remove',
    at: new Date().toISOString(),
    category_id: id,
    before: { slug, name },
    after: { slug: null, name: null },
  })
  return category
}

/** Throws an OperatorError if a category other than `ownId` has the slug or the name. */
async function assertFree({ sql }: QueryRunner, { slug, name }: Names, ownId?: number) {
  const holders = await sql('categories').where({ slug }).orWhere({ name }).select('id', 'slug')
  const others = holders.filter(({ id }) => id !== ownId)
  const [holder] = others
  if (!holder) return
  const taken = others.some((other) => other.slug === slug)
    ? `the slug ${slug}`
    : `the name ${name}, whose slug is ${holder.slug}`
  throw new OperatorError(`there is already a category with ${taken}`)
}
