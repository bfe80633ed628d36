import type { CategoryRow } from '../db/tables.ts'
import type { LineCategory } from './line.ts'

export type ExistingCategory = Pick<CategoryRow, 'id' | 'slug' | 'name' | 'created_at'>
type Names = Pick<LineCategory, 'slug' | 'name'>

/** What to do with the category of a line. `refuse`: another category has its slug or name. */
export type CategoryPlan = {
  category: LineCategory
  existing: ExistingCategory | undefined
  action: 'add' | 'rename' | 'keep' | 'refuse'
}

/** Plans all lines together, because categories may exchange their names. */
export function planCategories(current: ExistingCategory[], lines: LineCategory[]): CategoryPlan[] {
  // A category that some line identifies by id and creation time is not found by its slug.
  const others = current.filter((category) => !lines.some((line) => isSameCategory(line, category)))
  const plans = lines.map((category): CategoryPlan => {
    const same = current.find((existing) => isSameCategory(category, existing))
    if (same) return { category, existing: same, action: hasSameNames(category, same) ? 'keep' : 'rename' }
    const existing = others.find(({ slug }) => slug === category.slug)
    return { category, existing, action: existing ? 'keep' : 'add' }
  })
  // One refusal at a time: the refused category keeps its names, which another line may have relied on.
  for (;;) {
    const conflicting = findConflict(current, plans)
    if (!conflicting) return plans
    conflicting.action = 'refuse'
  }
}

function findConflict(current: ExistingCategory[], plans: CategoryPlan[]): CategoryPlan | undefined {
  const added = plans.filter(({ action }) => action === 'add').map(({ category }) => category)
  const renamed = new Map(
    plans.filter(({ action }) => action === 'rename').map(({ existing, category }) => [existing, category]),
  )
  const names: Names[] = [...current.map((category) => renamed.get(category) ?? category), ...added]
  const isTaken = ({ slug, name }: Names) =>
    names.filter((other) => other.slug === slug || other.name === name).length > 1
  return plans.find(({ action, category }) => (action === 'add' || action === 'rename') && isTaken(category))
}

const isSameCategory = (line: LineCategory, { id, created_at }: ExistingCategory) =>
  line.id === id && line.created_at === created_at

const hasSameNames = (one: Names, other: Names) => one.slug === other.slug && one.name === other.name
