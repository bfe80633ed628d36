import type { SortOrder } from '../search/best-matches.ts'

/** Part of an ordered list, counted from the nearer end, so that no page skips more than half. */
export type Slice = { direction: 'asc' | 'desc'; skip: number; take: number }

export function nearestSlice(total: number, limit: number, offset: number): Slice {
  const take = Math.min(limit, total - offset)
  const after = total - offset - take
  return after < offset
    ? { direction: 'asc', skip: after, take }
    : { direction: 'desc', skip: offset, take }
}

export const orderKeys = (order: SortOrder, direction: Slice['direction']) =>
  order.map((column) => `apps.${column} ${direction}`).join(', ')

export const orderBy = (order: SortOrder, direction: Slice['direction']) =>
  `order by ${orderKeys(order, direction)}`
