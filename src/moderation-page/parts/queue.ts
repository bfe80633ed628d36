import type { StateCounts } from '../../catalogue/app-store.ts'
import type { Category } from '../../contract/contract.ts'
import { formatReference } from '../../contract/field-rules.ts'
import { type Html, html } from '../../http/html.ts'
import type { Queue } from '../../moderation/app-filter.ts'
import { isMarked, type QueuedApp, type QueuePosition } from '../../moderation/queue.ts'
import { formatCount, formatQuantity, nounOf } from '../../util/text.ts'
import { alert, noDefaultButton, reasonField } from './components.ts'
import { type Frame, layout } from './layout.ts'
import type { QueueView } from './links.ts'
import { queuedApp, type ShownApp } from './queued-app.ts'

/** A queue, and a form that decides the selected apps. */

export type QueuedApps = {
  apps: QueuedApp[]
  /** The next page begins after this. */
  last?: QueuePosition | undefined
  /** Apps whose look-alikes were looked for to find these, if the filter asks for them. */
  read?: number | undefined
  /** Apps that the developer and the category leave in the queue, and those before this page. */
  total: number
  upTo: number
}

export type QueuePage = QueuedApps & {
  view: QueueView
  apps: ShownApp[]
  records: ReadonlyMap<number, StateCounts>
  /** Whether the developer and the category exist. */
  isFilterValid: boolean
  categories: Category[]
  developers: string[]
  reasons: string[]
  /** What the form before the page did. */
  notice: Html | false
  /** Of the form that was sent, if it was refused. */
  problem?: string | undefined
  reason?: string | undefined
  /** The references of the apps whose boxes are ticked. */
  selected: ReadonlySet<string>
  areOthersSelected: boolean
}

const titles: Record<Queue, string> = { pending: 'Pending apps', changed: 'Changed apps' }

export function queuePage(frame: Frame, page: QueuePage): Html {
  const { links } = frame
  const { view, apps } = page
  return layout(
    frame,
    titles[view.queue],
    html`<h1>${titles[view.queue]}</h1>
${page.notice}
${apps.length === 0 && alert(page.problem)}
${filterForm(page)}
${page.isFilterValid && html`<p class="quiet">${summary(page)}</p>`}
${apps.length > 0 && decisionForm(frame, page)}
<nav class="pages" aria-label="Pages of the queue">
  ${view.after && html`<a href="${links.queue({ ...view, after: undefined })}">Back to the beginning</a>`}
  ${page.last && html`<a rel="next" href="${links.queue({ ...view, after: page.last })}">${apps.length === 0 ? 'Search the next ones' : 'Next'}</a>`}
</nav>`,
  )

  function filterForm({ view, categories, developers }: QueuePage) {
    const { queue, filter } = view
    return html`<details class="filters"${isFiltered(view) && html` open`}>
  <summary>Filter</summary>
  <form method="get" action="${links.queue({ queue, filter: {} }).replace(/\?.*/, '')}" role="search">
    <input type="hidden" name="queue" value="${queue}">
    <label>Developer <input name="developer" list="developers" autocomplete="off" value="${filter.developer}"></label>
    <datalist id="developers">${developers.map((name) => html`<option value="${name}">`)}</datalist>
    <label>Category
      <select name="category">
        <option value="">any</option>
        ${categories.map(
          ({ slug, name }) =>
            html`<option value="${slug}"${slug === filter.category && html` selected`}>${name}</option>`,
        )}
      </select>
    </label>
    <label class="tick"><input type="checkbox" name="look-alikes" value="on"${filter.lookAlikes && html` checked`}> Look-alikes only</label>
    <button>Filter</button>
    ${isFiltered(view) && html`<a href="${links.queue({ queue, filter: {} })}">Show all</a>`}
  </form>
</details>`
  }
}

const isFiltered = ({ filter }: QueueView): boolean =>
  Object.values(filter).some((value) => value !== undefined)

/** The part of the queue that the list has. */
function summary({ apps, total, upTo, read, last, view }: QueuePage) {
  const waiting = html`${formatQuantity(total, 'app')} ${nounOf(total, 'waits', 'wait')}`
  if (total === 0)
    return isFiltered(view) ? 'No apps match the filter.' : 'No apps wait for a decision.'
  if (read !== undefined) {
    const isPart = read < total
    const found = html`${formatCount(apps.length)} found among ${isPart && html`${formatCount(read)} of `}${formatQuantity(total, 'app')}`
    return html`${found}${isPart && html`, from number ${formatCount(upTo + 1)} on`}, the longest wait first.`
  }
  if (apps.length === 0) return html`No more apps after this point; ${waiting} in all.`
  const isWhole = !view.after && !last
  return html`${waiting}, the longest first.${!isWhole && html` These are ${formatCount(upTo + 1)} to ${formatCount(upTo + apps.length)}.`}`
}

function decisionForm(frame: Frame, page: QueuePage) {
  const { links } = frame
  const { view, apps, records, selected, areOthersSelected } = page
  const marked = apps.filter(isMarked).length
  return html`<form method="post" action="${links.form('/decisions', view)}" class="decide">
<p class="select">
  <a href="${links.queue(view, { select: 'all' })}">Select all${marked > 0 && html` but look-alikes`}</a>
  <a href="${links.queue(view)}">Select none</a>
  ${
    areOthersSelected &&
    marked > 0 &&
    html`<span>${formatQuantity(marked, 'look-alike')} ${nounOf(marked, 'is', 'are')} not selected.</span>`
  }
</p>
<ul class="queue">
${apps.map((app) =>
  queuedApp(links, view, app, {
    record: records.get(app.developer_id),
    isSelected: selected.has(formatReference(app)) || (areOthersSelected && !isMarked(app)),
  }),
)}
</ul>
<div class="bar bottom">
${alert(page.problem)}
<fieldset>
  <legend class="selected"></legend>
  ${noDefaultButton}
  <button name="decision" value="approve" class="approve" formnovalidate>Approve</button>
  ${reasonField(page.reason ?? '', page.reasons)}
  <button name="decision" value="reject" class="reject">${view.queue === 'changed' ? 'Take down' : 'Reject'}</button>
</fieldset>
</div>
</form>`
}
