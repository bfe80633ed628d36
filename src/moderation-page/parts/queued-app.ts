import type { OpenedApp } from '../../accounts/session-store.ts'
import type { StateCounts } from '../../catalogue/app-store.ts'
import { formatReference } from '../../contract/field-rules.ts'
import { type Html, html } from '../../http/html.ts'
import { isMarked, type QueuedApp } from '../../moderation/queue.ts'
import { pick } from '../../util/helpers.ts'
import { formatQuantity } from '../../util/text.ts'
import { formatWait } from '../../util/time.ts'
import { changeList } from './changes.ts'
import { appLink, icon, leadsTo, lookAlikeChip, openChip, warningChips } from './components.ts'
import { excerptOf, shortChange } from './excerpts.ts'
import { developerRecord } from './labels.ts'
import type { Links, QueueView } from './links.ts'

/** An app in the list of a queue. */

/** `opened`: by somebody else. */
export type ShownApp = QueuedApp & { opened?: OpenedApp | undefined }

export function queuedApp(
  links: Links,
  view: QueueView,
  app: ShownApp,
  { record, isSelected }: { record: StateCounts | undefined; isSelected: boolean },
): Html {
  const position = app.opened && { ...pick(app, 'id', 'waiting_since'), isOpen: true as const }
  const changes = view.queue === 'changed' ? app.changes.map(shortChange) : []
  return html`
<li class="card">
  <label class="tick"><input type="checkbox" name="app" value="${formatReference(app)}"${isSelected && html` checked`}> <span class="hidden">Select ${app.name}</span></label>
  ${icon(app.name)}
  <div>
    <h2>${appLink(links, app, view, position)}</h2>
    <p class="quiet"><a href="${links.apps(app.developer_name)}"><bdi>${app.developer_name}</bdi></a> (${developerRecord(record)}) · <bdi>${app.category_name}</bdi> · waits ${formatWait(app.waiting_since)}</p>
    ${app.opened && html`<p class="chips">${openChip(app.opened)}</p>`}
    ${isMarked(app) && html`<p class="chips">${app.lookAlikes.map((one) => html`${lookAlikeChip(links, one)} `)}${warningChips(app)}</p>`}
    ${app.short_description && html`<p dir="auto">${app.short_description}</p>`}
    ${leadsTo(app, changes)}
    ${view.queue === 'changed' && listOfChanges()}
    <p class="beginning" dir="auto">${excerptOf(app.description)}</p>
  </div>
</li>`

  function listOfChanges(): Html {
    if (changes.length === 0) return html`<p><span class="chip">Changed and reverted</span></p>`
    return html`<details open>
      <summary>${formatQuantity(changes.length, 'field')} changed</summary>
      ${changeList(changes, `${links.app(app.id, view)}#changes`)}
    </details>`
  }
}
