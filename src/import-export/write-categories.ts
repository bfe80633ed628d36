import type { Actor } from '../audit/audit-store.ts'
import { addCategory, updateCategory } from '../catalogue/category-store.ts'
import type { Category, Problem } from '../contract/contract.ts'
import { OperatorError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import { type ImportLine, type LineCategory, problem, type WriteOptions } from './line.ts'
import { withUnusedIds } from './unused-ids.ts'

/** Adds and renames the categories of lines, one after the other. */
export async function writeCategories(
  runner: QueryRunner,
  lines: ImportLine[],
  options: WriteOptions,
): Promise<void> {
  for (const line of lines) {
    if (line.category) await writeCategory(runner, line, line.category, options)
  }
}

async function writeCategory(
  runner: QueryRunner,
  line: ImportLine,
  category: LineCategory,
  { actor, onlyNew }: WriteOptions,
) {
  const { id, slug, name, created_at } = category
  const stored = await runner
    .sql('categories')
    .where({ slug })
    .orWhereIn('id', id === undefined ? [] : [id])
    .select('id', 'slug', 'name', 'created_at')
  line.outcome = 'unchanged'
  const before = stored.find((one) => one.id === id && one.created_at === created_at)
  if (!before) {
    if (stored.some((one) => one.slug === slug)) return
    const added = await addCategoryOfLine(runner, category, actor)
    line.outcome = Array.isArray(added) ? added : 'created'
    return
  }
  const after = { slug, name }
  if (onlyNew || (slug === before.slug && name === before.name)) return
  const refusal = await orProblems(
    updateCategory(runner, before, after, actor),
    '; give that one another in a first file',
  )
  line.outcome = refusal ?? 'updated'
}

/** Returns the new category, or why it cannot be added. */
export async function addCategoryOfLine(
  runner: QueryRunner,
  category: LineCategory,
  actor: Actor,
): Promise<Category | Problem[]> {
  const [{ slug, name, ...others } = category] = await withUnusedIds(runner, 'categories', [
    category,
  ])
  return orProblems(addCategory(runner, slug, name, actor, others))
}

/** The result, or the message of an OperatorError with the advice as the problem of a line. */
async function orProblems<T>(write: Promise<T>, advice = ''): Promise<T | Problem[]> {
  try {
    return await write
  } catch (error) {
    if (error instanceof OperatorError) return [problem('/category', error.message + advice)]
    throw error
  }
}
