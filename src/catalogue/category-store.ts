import { type Actor, auditStore, difference } from '../audit/audit-store.ts'
import type { Category, CountedCategory } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import { assertSlug, maxCategories, parseCategoryName } from '../contract/field-rules.ts'
import type { QueryRunner } from '../db/engine.ts'
import { required } from '../util/helpers.ts'

type Names = Pick<Category, 'slug' | 'name'>

export const categoryStore = (runner: QueryRunner) => {
  const { sql } = runner
  const audit = auditStore(runner)

  /** Throws an OperatorError if a category other than `ownId` has the slug or the name. */
  async function assertFree({ slug, name }: Names, ownId?: number) {
    const holders = await sql('categories').where({ slug }).orWhere({ name }).select('id', 'slug')
    const others = holders.filter(({ id }) => id !== ownId)
    if (others.length === 0) return
    const taken = others.some((other) => other.slug === slug)
      ? `the slug ${slug}`
      : `the name ${name}`
    throw new OperatorError(`there is already a category with ${taken}`)
  }

  /** Throws an OperatorError if it does not exist. */
  async function requireCategory(slug: string, { forUpdate = false } = {}): Promise<Category> {
    const query = sql('categories').where({ slug }).first('id', 'slug', 'name')
    const category = await (forUpdate ? query.forUpdate() : query)
    if (!category) throw new OperatorError(`there is no category with the slug ${slug}`)
    return category
  }

  /** Renames several categories, which may exchange their slugs and names. */
  async function renameAll(renames: { before: Category; after: Names }[], actor: Actor) {
    if (renames.length === 0) return
    runner.markPublicChange()
    const at = new Date().toISOString()
    const rename = (id: number, names: Names) =>
      sql('categories')
        .where({ id })
        .update({ ...names, changed_at: at })
    // Temporary values that no valid slug or name equals.
    for (const { before } of renames)
      await rename(before.id, { slug: `~${before.id}`, name: `\n${before.id}` })
    for (const { before, after } of renames) await rename(before.id, after)
    const entries = renames.map(({ before, after }) => ({
      action: 'category rename' as const,
      at,
      category_id: before.id,
      ...difference<Names>(before, after, ['slug', 'name']),
    }))
    await audit.record(actor, ...entries)
  }

  return {
    /** By name. */
    all() {
      return sql('categories').orderBy('name').select('id', 'slug', 'name')
    },

    /** By name, each with the number of its listed apps. */
    allWithListedCount(): Promise<CountedCategory[]> {
      return sql('categories')
        .orderBy('name')
        .select('id', 'slug', 'name', 'listed_apps as app_count')
    },

    /**
     * By name, with how many apps are in each: those the public sees, and those in any state,
     * deleted ones too.
     */
    listWithCounts(): Promise<(Category & { listed_apps: number; all_apps: number })[]> {
      const counts = sql('apps')
        .groupBy('category_id')
        .select('category_id')
        .count({ all_apps: '*' })
        .as('counts')
      return sql('categories')
        .leftJoin(counts, 'counts.category_id', 'categories.id')
        .orderBy('name')
        .select('id', 'slug', 'name', 'listed_apps', sql.raw('coalesce(all_apps, 0) as all_apps'))
    },

    requireCategory,

    /**
     * Throws an OperatorError if the slug or name is invalid or taken, or there are too many
     * categories for a response.
     */
    async add(
      slug: string,
      text: string,
      actor: Actor,
      { id, created_at }: { id?: number | undefined; created_at?: string | undefined } = {},
    ): Promise<Category> {
      const name = parseCategoryName(text)
      assertSlug(slug)
      const [all] = await sql('categories').count({ count: '*' })
      if (Number(required(all, 'the count').count) >= maxCategories) {
        throw new OperatorError(
          `there are ${maxCategories} categories, which is the maximum; rename or remove one`,
        )
      }
      const now = new Date().toISOString()
      const rows = [{ id, slug, name, created_at: created_at ?? now, changed_at: now }]
      await assertFree({ slug, name })
      runner.markPublicChange()
      const [inserted] = await runner.insertRows('categories', rows)
      const category = { id: required(inserted, 'the inserted category').id, slug, name }
      await audit.record(actor, {
        action: 'category add',
        at: now,
        category_id: category.id,
        after: { slug, name },
      })
      return category
    },

    /** Locks all categories until the transaction ends. */
    lockAll() {
      return sql('categories').orderBy('id').forUpdate().select('id', 'slug', 'name', 'created_at')
    },

    renameAll,

    /** Throws an OperatorError as `add` does, and if nothing would change. */
    async rename(
      slug: string,
      changes: { name: string; slug?: string | undefined },
      actor: Actor,
    ): Promise<Category> {
      const before = await requireCategory(slug, { forUpdate: true })
      const after = { slug: changes.slug ?? slug, name: parseCategoryName(changes.name) }
      assertSlug(after.slug)
      if (after.slug === slug && after.name === before.name)
        throw new OperatorError(
          `the category ${slug} already has the name ${JSON.stringify(after.name)}`,
        )
      await assertFree(after, before.id)
      await renameAll([{ before, after }], actor)
      return { id: before.id, ...after }
    },

    /**
     * Throws an OperatorError if there is no such category; a foreign key rejects one with apps,
     * even deleted ones.
     */
    async remove(slug: string, actor: Actor): Promise<Category> {
      const category = await requireCategory(slug, { forUpdate: true })
      const { id, name } = category
      runner.markPublicChange()
      await sql('categories').where({ id }).delete()
      await audit.record(actor, {
        action: 'category remove',
        at: new Date().toISOString(),
        category_id: id,
        before: { slug, name },
        after: { slug: null, name: null },
      })
      return category
    },
  }
}
