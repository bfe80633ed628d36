import type { Problem } from '../contract/contract.ts'
import type { CategoryRow } from '../db/tables.ts'
import { type LineCategory, problem } from './line.ts'

/** What is to be done with the lines of categories. Pure. */

export type ExistingCategory = Pick<CategoryRow, 'id' | 'slug' | 'name' | 'created_at'>
export type CategoryPlan = { line: LineCategory; existing: ExistingCategory | undefined }

export const isCategoryPlan = (plan: CategoryPlan | Problem[]): plan is CategoryPlan => !Array.isArray(plan)

const isSameCategory = (line: LineCategory, { id, created_at }: ExistingCategory) =>
  line.id === id && line.created_at === created_at

/** By id and time of creation, whatever it is called now; or else by a slug, if none knows its category better. */
function matchCategories(current: ExistingCategory[], lines: LineCategory[]): CategoryPlan[] {
  const others = current.filter((category) => !lines.some((line) => isSameCategory(line, category)))
  return lines.map((line) => ({
    line,
    existing:
      current.find((category) => isSameCategory(line, category)) ??
      others.find((category) => category.slug === line.slug),
  }))
}

/** Whether the category that a line knows is given another slug or name by it. One known by its slug alone keeps its name. */
export const isRename = ({ line, existing }: CategoryPlan): boolean =>
  existing !== undefined && isSameCategory(line, existing) && !hasSameNames(line, existing)

const hasSameNames = (one: { slug: string; name: string }, other: { slug: string; name: string }) =>
  one.slug === other.slug && one.name === other.name

/** What to do with each line, all at once: two may exchange their names. A line whose names another category keeps has its problems. */
export function planCategories(current: ExistingCategory[], lines: LineCategory[]): (CategoryPlan | Problem[])[] {
  const plans: (CategoryPlan | Problem[])[] = matchCategories(current, lines)
  for (;;) {
    const left = plans.filter(isCategoryPlan)
    const renames = new Map(left.filter(isRename).map((plan) => [plan.existing?.id, plan]))
    const named = current.map(({ id, slug, name }) => renames.get(id)?.line ?? { slug, name })
    const added = left.filter(({ existing }) => existing === undefined).map(({ line }) => line)
    const conflicting = left.find(
      (plan) =>
        (plan.existing === undefined || isRename(plan)) && countNameClashes([...named, ...added], plan.line) > 1,
    )
    if (!conflicting) return plans
    const { slug, name } = conflicting.line
    plans[plans.indexOf(conflicting)] = [
      problem('/category', `has a slug or name that another has here: ${slug}, ${name}`),
    ]
  }
}

const countNameClashes = (all: { slug: string; name: string }[], { slug, name }: LineCategory) =>
  all.filter((other) => other.slug === slug || other.name === name).length
