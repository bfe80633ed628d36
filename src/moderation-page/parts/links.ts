import type { Queue } from '../../catalogue/app-states.ts'
import type { AppFilter } from '../../moderation/app-filter.ts'
import type { EntryFilter } from '../../moderation/entries.ts'
import type { QueuePosition } from '../../moderation/queue.ts'

/** The addresses of the pages and of the actions of their forms. */

/** A list that a moderator works through: a queue, its filter, and where in it the list begins. */
export type QueueView = { queue: Queue; filter: AppFilter; after?: QueuePosition | undefined }

/** The ids of apps that the form before a page has decided, and those that it has not. */
export type DecidedIds = { decided?: number[] | undefined; refused?: number[] | undefined }

type AppOptions = DecidedIds & {
  /** The app to go on with instead of the next one. */
  next?: number | undefined
  review?: number
}

export type FormPath = '/decisions' | '/reopenings' | '/restorations' | '/removed-reviews'

export type Links = {
  style: string
  signIn: (next?: string) => string
  signOut: string
  queue: (view: QueueView, options?: DecidedIds & { select?: 'all' }) => string
  /** With a view, the page leads through that queue. */
  app: (id: number, view?: QueueView, options?: AppOptions) => string
  /** Leads to the app after a position in a queue. */
  next: (view: QueueView, after: QueuePosition) => string
  apps: (text?: string) => string
  audit: (filter?: EntryFilter) => string
  auditEntry: (entry: number) => string
  /** The action of a form about an app or a queue. */
  form: (path: FormPath, view?: QueueView) => string
  publicApp: (id: number) => string
}

/** Parameters of a query to be written. Undefined and false are left out. */
type Parameters = Record<string, string | number | boolean | undefined>

/** `prefix` is the path of MODERATION_URL, and `publicUrl` the address of the API, BASE_URL. */
export function createLinks(prefix: string, publicUrl: string): Links {
  const link = (path: string, parameters: Parameters = {}) => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined && value !== false) query.set(name, String(value))
    return prefix + path + (query.size > 0 ? `?${query}` : '')
  }

  return {
    style: link('/style.css'),
    signIn: (next) => link('/sign-in', { next }),
    signOut: link('/sign-out'),
    queue: (view, { select, ...ids } = {}) =>
      link('/', { ...viewParameters(view), select, ...idParameters(ids) }),
    app: (id, view, { next, review, ...ids } = {}) =>
      link(`/apps/${id}`, {
        ...(view && viewParameters({ ...view, after: undefined })),
        next,
        review,
        ...idParameters(ids),
      }),
    next: (view, after) => link('/next', viewParameters({ ...view, after })),
    apps: (text) => link('/apps', { text }),
    audit: (filter = {}) => link('/audit', filter),
    auditEntry: (entry) => link('/audit', { entry }),
    form: (path, view) => link(path, view && viewParameters(view)),
    publicApp: (id) => `${publicUrl}/apps/${id}`,
  }
}

/** `parseQueueView` in forms.ts reads them. */
const viewParameters = ({ queue, filter, after }: QueueView): Parameters => ({
  queue,
  developer: filter.developer,
  category: filter.category,
  after: after && `${after.waiting_since}~${after.id}`,
})

const idParameters = ({ decided = [], refused = [] }: DecidedIds): Parameters => ({
  decided: decided.length > 0 && decided.join(' '),
  refused: refused.length > 0 && refused.join(' '),
})
