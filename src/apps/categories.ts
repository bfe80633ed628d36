import type { Actor } from '../actor.ts'
import { auditStore } from '../audit/store.ts'
import type { Category } from '../contract.ts'
import { type Connection, rethrowViolation } from '../db/open.ts'
import { ServiceError } from '../errors.ts'

export const categoryStore = (connection: Connection) => ({
  /** By name. */
  all(): Promise<Category[]> {
    return connection.sql('categories').orderBy('name').select('id', 'slug', 'name')
  },

  async has(id: number): Promise<boolean> {
    return (await connection.sql('categories').where({ id }).first('id')) !== undefined
  },

  /** Throws `refused` where the slug or the name cannot be one or is another category's. */
  async add(slug: string, text: string, actor: Actor): Promise<Category> {
    const name = text.trim()
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(slug) || slug.length > 80) {
      throw new ServiceError(
        'refused',
        `the slug must be lower-case letters and digits with single hyphens between, not ${JSON.stringify(slug)}`,
      )
    }
    if (name === '' || [...name].length > 100 || /\p{C}/u.test(name)) {
      throw new ServiceError('refused', 'the name must be 1 to 100 characters on one line')
    }
    const taken = (what: string) => () => new ServiceError('refused', `there is already a category with ${what}`)
    const rows = await connection
      .sql('categories')
      .insert({ slug, name })
      .returning(['id', 'slug', 'name'])
      .catch((error: unknown) =>
        rethrowViolation(error, {
          'categories.slug': taken(`the slug ${slug}`),
          'categories.name': taken(`the name ${name}`),
        }),
      )
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
})
