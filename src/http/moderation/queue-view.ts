import { OperatorError } from '../../contract/errors.ts'
import type { Place, Queue, QueueFilter } from '../../moderation/queue-walk.ts'
import { type FormFields, fieldOf, type Parameters } from './fields.ts'

/** A list that a moderator works through: a queue, its filter, and where in it the list begins. */
export type QueueView = { queue: Queue; filter: QueueFilter; after?: Place | undefined }

/** From the parameters that `viewParameters` returns, or the form of the filter. */
export function parseQueueView(query: FormFields): QueueView {
  const after = fieldOf(query, 'after')
  return {
    queue: fieldOf(query, 'queue') === 'changed' ? 'changed' : 'pending',
    filter: {
      developer: fieldOf(query, 'developer').trim() || undefined,
      category: fieldOf(query, 'category') || undefined,
      lookAlikes: fieldOf(query, 'look-alikes') !== '' || undefined,
    },
    after: after ? parsePlace(after) : undefined,
  }
}

export const viewParameters = ({ queue, filter, after }: QueueView): Parameters => ({
  queue,
  developer: filter.developer,
  category: filter.category,
  'look-alikes': filter.lookAlikes && 'on',
  after: after && `${after.waiting_since}~${after.id}${after.isOpen ? '~open' : ''}`,
})

function parsePlace(text: string): Place {
  const [, waiting_since, id, isOpen] =
    /^(\d{4}-\d{2}-\d{2}T[\d:.]{8,15}Z)~([1-9]\d{0,14})(~open)?$/.exec(text) ?? []
  if (waiting_since !== undefined)
    return { waiting_since, id: Number(id), ...(isOpen && { isOpen: true }) }
  throw new OperatorError(
    `after must be a place in the queue, as the link Next has it, not ${JSON.stringify(text)}`,
  )
}
