import type { Problem } from '../contract/contract.ts'
import type { CategoryRow } from '../db/tables.ts'
import { type LineCategory, problem } from './line.ts'

/** What is to be done with the lines of categories. Pure. */

export type KnownCategory = Pick<CategoryRow, 'id' | 'slug' | 'name' | 'created_at'>
export type CategoryPlan = { line: LineCategory; known: KnownCategory | undefined }

export const isCategoryPlan = (plan: CategoryPlan | Problem[]): plan is CategoryPlan => !Array.isArray(plan)

const isExactly = (line: LineCategory, { id, created_at }: KnownCategory) =>
  line.id === id && line.created_at === created_at

/** By id and time of creation, whatever it is called now; or else by a slug, if none knows its category better. */
function known(there: KnownCategory[], lines: LineCategory[]): CategoryPlan[] {
  const others = there.filter((category) => !lines.some((line) => isExactly(line, category)))
  return lines.map((line) => ({
    line,
    known:
      there.find((category) => isExactly(line, category)) ?? others.find((category) => category.slug === line.slug),
  }))
}

/** Whether the category that a line knows is given another slug or name by it. One known by its slug alone keeps its name. */
export const isRename = ({ line, known }: CategoryPlan): boolean =>
  known !== undefined && isExactly(line, known) && !isNamedAlike(line, known)

const isNamedAlike = (one: { slug: string; name: string }, other: { slug: string; name: string }) =>
  one.slug === other.slug && one.name === other.name

/** What to do with each line, all at once: two may exchange their names. A line whose names another category keeps has its problems. */
export function categoryPlans(there: KnownCategory[], lines: LineCategory[]): (CategoryPlan | Problem[])[] {
  const plans: (CategoryPlan | Problem[])[] = known(there, lines)
  for (;;) {
    const left = plans.filter(isCategoryPlan)
    const renames = new Map(left.filter(isRename).map((plan) => [plan.known?.id, plan]))
    const named = there.map(({ id, slug, name }) => renames.get(id)?.line ?? { slug, name })
    const fresh = left.filter(({ known }) => known === undefined).map(({ line }) => line)
    const clashing = left.find(
      (plan) => (plan.known === undefined || isRename(plan)) && hasNames([...named, ...fresh], plan.line) > 1,
    )
    if (!clashing) return plans
    const { slug, name } = clashing.line
    plans[plans.indexOf(clashing)] = [
      problem('/category', `has a slug or name that another has here: ${slug}, ${name}`),
    ]
  }
}

const hasNames = (all: { slug: string; name: string }[], { slug, name }: LineCategory) =>
  all.filter((other) => other.slug === slug || other.name === name).length
