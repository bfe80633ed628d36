import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'
import { measure, withTiming } from '../util/timing.ts'
import type { Connection } from './dialect.ts'

type Select = Connection['select']
type Values = Parameters<Select>[1]

/** More would have the first wait for long; and each number of them is a statement of its own, which connections keep prepared. */
const maxBatchSize = 8

/** Of how many statements it is remembered. */
const maxStatements = 100

/**
 * A `select` for what finds one row at most. What is asked for by the same statement in one turn of the event loop goes to the
 * database together: to hand over each by itself takes longer than what most of them ask for.
 */
export function batchSelect(select: Select): Select {
  const loaders = new LRUCache<string, DataLoader<Values, unknown[]>>({
    max: maxStatements,
    memoMethod: (statement) =>
      new DataLoader((all) => withTiming(undefined, () => selectAll(select, statement, all)), {
        cache: false,
        maxBatchSize,
        batchScheduleFn: setImmediate,
      }),
  })

  return async <Row>(statement: string, values: Values) => {
    const rows = await measure('waiting', () => loaders.memo(statement).load(values))
    // What a statement's rows are is for its caller to know.
    return rows as Row[]
  }
}

async function selectAll(select: Select, statement: string, all: readonly Values[]): Promise<unknown[][]> {
  const [only = []] = all
  if (all.length === 1) return [await select(statement, only)]
  const each = all.map((_, position) => `select ${position} as position, asked.* from (${statement}) as asked`)
  const rows = await select<{ position: number }>(each.join(' union all '), all.flat())
  return all.map((_, index) => rows.filter(({ position }) => position === index))
}
