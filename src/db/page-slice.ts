import type { SortOrder } from './dialect.ts'

/** Part of an ordered list, counted from the nearer end, so that no page skips more than half. */
export type Slice = { direction: 'asc' | 'desc'; skip: number; take: number }

export function nearestSlice(total: number, limit: number, offset: number): Slice {
  const take = Math.min(limit, total - offset)
  const after = total - offset - take
  return after < offset ? { direction: 'asc', skip: after, take } : { direction: 'desc', skip: offset, take }
}

/** Estimates how many of `listed` rows in an index a scan reads to find a slice of the `size` rows that match. */
export const estimateScannedRows = ({ skip, take }: Slice, size: number, listed: number) =>
  // 20 more, since matches are not spread evenly.
  20 + Math.ceil(((skip + take) * listed) / size)

/** `first` precedes the columns. */
export const orderBy = (order: SortOrder, direction: Slice['direction'], ...first: string[]) =>
  `order by ${[...first, ...order.map((column) => `apps.${column} ${direction}`)].join(', ')}`
