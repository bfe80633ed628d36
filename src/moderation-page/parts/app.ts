import type { NamedAppRow } from '../../catalogue/app-store.ts'
import { type Html, html } from '../../http/html.ts'
import type { AppDetails } from '../../moderation/app-details.ts'
import type { NamesById } from '../../moderation/entries.ts'
import { type AppBar, appBar } from './app-bar.ts'
import { type AppFacts, facts, lookAlikeTable } from './app-facts.ts'
import { wordChanges } from './changes.ts'
import { historyList } from './entries.ts'
import { type ShownEntry, wholeChange } from './excerpts.ts'
import { type Frame, layout } from './layout.ts'
import { type AppReviews, reviewList } from './reviews.ts'

/** Everything about an app, and the forms that decide on it. */

export type AppPage = AppDetails<ShownEntry> &
  AppBar &
  AppFacts &
  AppReviews & {
    /** The look-alikes, with everything that stands beside the app. */
    compared: NamedAppRow[]
    names: NamesById
    /** What the form before the page did. */
    notice: Html | false
  }

export function appPage(frame: Frame, page: AppPage): Html {
  const { app, history, newEntries, changes } = page
  const older = history.filter((entry) => !newEntries.includes(entry))
  const options = { links: frame.links, names: page.names }
  const newHistory = historyList(newEntries, { ...options, areOpen: true })
  return layout(
    frame,
    app.name,
    html`${page.notice}
${appBar(frame.links, page)}
${
  newEntries.length > 0 &&
  html`<section class="card"><h2>Changed since you looked</h2>${newHistory}</section>`
}
${
  changes.length > 0 &&
  html`<section class="card" id="changes"><h2>Changed since the last decision</h2>
${wordChanges(changes.map(wholeChange))}
</section>`
}
${app.unreviewed_changes !== null && changes.length === 0 && html`<p><span class="chip">Changed and reverted</span></p>`}
${lookAlikeTable(frame.links, app, page.compared)}
<div class="columns">
${listing(app)}
${facts(frame.links, page)}
</div>
${reviewList(frame.links, page)}
<section class="card">
<h2>History${newEntries.length > 0 && html` before`}</h2>
${historyList(older, options)}
${page.hasOlderHistory && html`<p><a href="${frame.links.audit({ app: app.id })}">All entries</a></p>`}
</section>`,
  )
}

/** As readers of a shop window see it. */
const listing = (app: NamedAppRow) => html`<section class="card listing">
${app.short_description && html`<p dir="auto"><strong>${app.short_description}</strong></p>`}
<p class="text" dir="auto">${app.description}</p>
</section>`
