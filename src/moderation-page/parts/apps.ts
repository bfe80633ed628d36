import type { NamedAppRow } from '../../catalogue/app-store.ts'
import { type Html, html } from '../../http/html.ts'
import { formatQuantity } from '../../util/text.ts'
import { appLink, day, icon, leadsTo, stateChip } from './components.ts'
import { type Frame, layout } from './layout.ts'

/** Finds apps in any state. */

export type AppsPage = { text: string; apps: NamedAppRow[]; hasMore: boolean }

export const appsPage = (frame: Frame, { text, apps, hasMore }: AppsPage): Html =>
  layout(
    frame,
    'Apps',
    html`<h1>Apps</h1>
<form method="get" action="${frame.links.apps()}" role="search" class="find">
  <label>Id, slug, developer, package name or a part of it, or words of the name
    <input type="search" name="text" maxlength="255" value="${text}" autofocus>
  </label>
  <button class="primary">Find</button>
</form>
${text !== '' && html`<p class="quiet">${apps.length === 0 ? 'No app in any state.' : hasMore ? html`The first ${apps.length} apps.` : `${formatQuantity(apps.length, 'app')}.`}</p>`}
<ul class="queue">${apps.map(
      (app) => html`
<li class="card">
  ${icon(app.name)}
  <div>
    <h2>${appLink(frame.links, app)} ${stateChip(app)}</h2>
    <p class="quiet"><a href="${frame.links.apps(app.developer_name)}"><bdi>${app.developer_name}</bdi></a> · <bdi>${app.category_name}</bdi> · ${formatQuantity(app.total_downloads, 'download')} · changed ${day(app.updated_at)}</p>
    ${app.short_description && html`<p dir="auto">${app.short_description}</p>`}
    ${leadsTo(app)}
  </div>
</li>`,
    )}
</ul>`,
  )
