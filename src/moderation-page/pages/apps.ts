import { findNamedApps } from '../../catalogue/app-store.ts'
import { type Html, html } from '../../http/html.ts'
import { findApps } from '../../moderation/finder.ts'
import { formatQuantity } from '../../util/text.ts'
import { fieldOf } from '../forms.ts'
import { appLink, day, icon, leadsTo, stateChip } from '../parts/components.ts'
import { type PageContext, readPage } from '../parts/context.ts'
import { layout, readFrame } from '../parts/layout.ts'

/** Finds apps in any state. */

const maxFound = 50

export function appsPage(context: PageContext): Promise<Html> {
  const { links, request } = context
  const text = fieldOf(request.query, 'text').trim()
  return readPage(context, async (runner) => {
    const { ids, hasMore } = await findApps(runner, text, maxFound)
    const apps = await findNamedApps(runner, ids)
    return layout(
      await readFrame(context, runner, 'apps'),
      'Apps',
      html`<h1>Apps</h1>
<form method="get" action="${links.apps()}" role="search" class="find">
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
    <h2>${appLink(links, app)} ${stateChip(app)}</h2>
    <p class="quiet"><a href="${links.apps(app.developer_name)}"><bdi>${app.developer_name}</bdi></a> · <bdi>${app.category_name}</bdi> · ${formatQuantity(app.total_downloads, 'download')} · changed ${day(app.updated_at)}</p>
    ${app.short_description && html`<p dir="auto">${app.short_description}</p>`}
    ${leadsTo(app)}
  </div>
</li>`,
      )}
</ul>`,
    )
  })
}
