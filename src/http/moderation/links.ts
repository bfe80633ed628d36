import type { EntryFilter } from '../../moderation/audit-entries.ts'
import type { Place } from '../../moderation/queue-walk.ts'
import type { Parameters } from './fields.ts'
import { type QueueView, viewParameters } from './queue-view.ts'

/** The addresses of the pages, which views and redirects use. */

export type Links = ReturnType<typeof createLinks>

/** The apps that a page reports: those that were decided before it, and those that were refused. */
export type Report = { decided?: number[] | undefined; refused?: number[] | undefined }

type AppOptions = Report & {
  next?: number | undefined
  review?: number
  place?: Place | undefined
}

/**
 * `prefix` is the path of MODERATION_URL, and `publicUrl` the address of the API, BASE_URL.
 */
export function createLinks(prefix: string, publicUrl: string) {
  const link = (path: string, parameters: Parameters = {}) => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined && value !== false) query.set(name, String(value))
    return prefix + path + (query.size > 0 ? `?${query}` : '')
  }
  const reported = ({ decided = [], refused = [] }: Report): Parameters => ({
    decided: decided.length > 0 && decided.join(' '),
    refused: refused.length > 0 && refused.join(' '),
  })

  return {
    style: link('/style.css'),
    signIn: (next?: string) => link('/sign-in', { next }),
    signOut: link('/sign-out'),
    queue: (view: QueueView, { select, ...report }: Report & { select?: 'all' } = {}) =>
      link('/', { ...viewParameters(view), select, ...reported(report) }),
    /**
     * With a view, the page leads through that queue. `next` is the app to go on with instead of
     * the next one. `place` is where the app is, which follows from the app unless others have it
     * open.
     */
    app: (id: number, view?: QueueView, { next, review, place, ...report }: AppOptions = {}) =>
      link(`/apps/${id}`, {
        ...(view && viewParameters({ ...view, after: place?.isOpen && place })),
        next,
        review,
        ...reported(report),
      }),
    /** Leads to the app after a place of a queue. */
    next: (view: QueueView, after: Place) => link('/next', viewParameters({ ...view, after })),
    apps: (text?: string) => link('/apps', { text }),
    audit: (filter: EntryFilter = {}) => link('/audit', filter),
    auditEntry: (entry: number) => link('/audit', { entry }),
    /** The action of a form about an app or a queue. */
    decisions: (view?: QueueView) => link('/decisions', view && viewParameters(view)),
    reopenings: (view?: QueueView) => link('/reopenings', view && viewParameters(view)),
    restorations: (view?: QueueView) => link('/restorations', view && viewParameters(view)),
    removedReviews: (view?: QueueView) => link('/removed-reviews', view && viewParameters(view)),
    publicApp: (id: number) => `${publicUrl}/apps/${id}`,
  }
}
