import type { Knex } from 'knex'
import type { Order } from './dialect.ts'

/** Part of an ordered whole, from the end that is nearer: no page skips more than half. */
export type Slice = { direction: 'asc' | 'desc'; skip: number; take: number }

export function sliceOf(total: number, limit: number, offset: number): Slice {
  const take = Math.min(limit, total - offset)
  const behind = total - offset - take
  return behind < offset ? { direction: 'asc', skip: behind, take } : { direction: 'desc', skip: offset, take }
}

export const ordered = (order: Order, direction: Slice['direction']) =>
  order.map((column) => ({ column: `apps.${column}`, order: direction }))

/** Only the ids of a page of apps, which an order's index has; the rows join later: skipping joined rows makes late pages slow. */
export const idsOf = (query: Knex.QueryBuilder, order: Order, { direction, skip, take }: Slice): Knex.QueryBuilder =>
  query.select('apps.id').orderBy(ordered(order, direction)).limit(take).offset(skip)
