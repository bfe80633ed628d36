import type { Queue } from '../../catalogue/app-states.ts'
import type { QueryRunner } from '../../db/engine.ts'
import type { ModeratorRow } from '../../db/rows.ts'
import { type Html, html } from '../../http/html.ts'
import { countQueues } from '../../moderation/status.ts'
import { formatCount } from '../../util/text.ts'
import type { PageContext } from './context.ts'
import type { Links } from './links.ts'

/** The common parts of all pages. */

type Tab = Queue | 'apps' | 'audit'

/** Around a page: who has signed in, and the tabs. `counts` are missing on pages of errors. */
export type Frame = {
  links: Links
  moderator: ModeratorRow | undefined
  counts?: Record<Queue, number>
  tab?: Tab
}

export const readFrame = async (
  { links, session: { moderator } }: PageContext,
  runner: QueryRunner,
  tab?: Tab,
): Promise<Frame> => ({
  links,
  moderator,
  counts: await countQueues(runner),
  ...(tab && { tab }),
})

export const layout = (frame: Frame, title: string, content: Html): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Moderation</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${frame.links.style}">
</head>
<body>
${frame.moderator && header(frame, frame.moderator)}
<main>
${content}
</main>
</body>
</html>
`

function header({ links, counts, tab }: Frame, { name }: ModeratorRow) {
  const tabs: [name: Tab, title: string, address: string, count?: number | undefined][] = [
    ['pending', 'Pending', links.queue({ queue: 'pending', filter: {} }), counts?.pending],
    ['changed', 'Changed', links.queue({ queue: 'changed', filter: {} }), counts?.changed],
    ['apps', 'Apps', links.apps()],
    ['audit', 'Audit', links.audit()],
  ]
  return html`<header>
  <nav class="chips" aria-label="Pages">
    ${tabs.map(
      ([one, title, address, count]) =>
        html`<a href="${address}"${one === tab && html` aria-current="page"`}>${title}${
          count !== undefined && html` <span class="count">${formatCount(count)}</span>`
        }</a> `,
    )}
  </nav>
  <form method="post" action="${links.signOut}"><bdi>${name}</bdi> <button>Sign out</button></form>
</header>`
}

/** A page that says one thing, such as an error. */
export const messagePage = (frame: Frame, text: string): Html =>
  layout(
    frame,
    'Moderation',
    html`<h1>Moderation</h1>
<p role="alert" class="problem">${text}</p>
<p><a href="${frame.links.queue({ queue: 'pending', filter: {} })}">Go to the queue</a></p>`,
  )
