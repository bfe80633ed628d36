import type { SortOrder } from './dialect.ts'

/** Part of an ordered whole, from the end that is nearer: no page skips more than half. */
export type Slice = { direction: 'asc' | 'desc'; skip: number; take: number }

export function nearestSlice(total: number, limit: number, offset: number): Slice {
  const take = Math.min(limit, total - offset)
  const after = total - offset - take
  return after < offset ? { direction: 'asc', skip: after, take } : { direction: 'desc', skip: offset, take }
}

/** About how many rows a walk through an order's index passes to the end of a slice of `size`, among `listed` in all. */
export const estimateScannedRows = ({ skip, take }: Slice, size: number, listed: number) =>
  // And somewhat more: they do not stand evenly.
  20 + Math.ceil(((skip + take) * listed) / size)

/** `first` stands before the columns. */
export const orderBy = (order: SortOrder, direction: Slice['direction'], ...first: string[]) =>
  `order by ${[...first, ...order.map((column) => `apps.${column} ${direction}`)].join(', ')}`
