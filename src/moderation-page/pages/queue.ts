import { findAppsOpenElsewhere, type OpenedApp } from '../../accounts/session-store.ts'
import { findRejectionReasons } from '../../audit/read-entries.ts'
import type { Queue } from '../../catalogue/app-states.ts'
import { countAppsByState } from '../../catalogue/app-store.ts'
import { findCategories } from '../../catalogue/category-store.ts'
import { OperatorError } from '../../contract/errors.ts'
import { formatReference } from '../../contract/field-rules.ts'
import type { QueryRunner } from '../../db/engine.ts'
import { type Html, html } from '../../http/html.ts'
import {
  countQueue,
  findWaitingDevelopers,
  isMarked,
  type QueuedApp,
  type QueuePosition,
  walkQueue,
} from '../../moderation/queue.ts'
import { formatCount, formatQuantity, nounOf } from '../../util/text.ts'
import { formatWait } from '../../util/time.ts'
import { decidedIds, fieldOf, maxSelected, parseQueueView } from '../forms.ts'
import { changeList } from '../parts/changes.ts'
import {
  alert,
  appLink,
  icon,
  leadsTo,
  lookAlikeChip,
  noDefaultButton,
  openChip,
  reasonField,
  warningChips,
} from '../parts/components.ts'
import { type PageContext, readPage } from '../parts/context.ts'
import { excerptOf, shortChange } from '../parts/excerpts.ts'
import { developerRecord, sentenceOf } from '../parts/labels.ts'
import { layout, readFrame } from '../parts/layout.ts'
import type { QueueView } from '../parts/links.ts'
import { readNotice } from '../parts/notice.ts'

/** A queue, and a form that decides the selected apps. */

/** The form of a queue that was refused, which its page shows again. */
export type RefusedQueueForm = {
  problem?: string
  reason: string
  /** References of apps. */
  selected: string[]
  /** Ids of apps that were not decided. */
  refused?: number[]
}

const titles: Record<Queue, string> = { pending: 'Pending apps', changed: 'Changed apps' }

export function queuePage(context: PageContext, form?: RefusedQueueForm): Promise<Html> {
  const { links, request, response } = context
  const view = parseQueueView(request.query)
  return readPage(context, async (runner) => {
    const page = await readQueue(context, runner, view, form)
    const { apps, last } = page
    if (!page.isFilterValid) response.status(400)
    return layout(
      await readFrame(context, runner, view.queue),
      titles[view.queue],
      html`<h1>${titles[view.queue]}</h1>
${page.notice}
${apps.length === 0 && alert(page.problem)}
${filterForm(page)}
${page.isFilterValid && html`<p class="quiet">${summary(page)}</p>`}
${apps.length > 0 && decisionForm(page)}
<nav class="pages" aria-label="Pages of the queue">
  ${view.after && html`<a href="${links.queue({ ...view, after: undefined })}">Back to the beginning</a>`}
  ${last && html`<a rel="next" href="${links.queue({ ...view, after: last })}">Next</a>`}
</nav>`,
    )
  })
}

type QueuePage = Awaited<ReturnType<typeof readQueue>>

async function readQueue(
  context: PageContext,
  runner: QueryRunner,
  view: QueueView,
  form: RefusedQueueForm | undefined,
) {
  const { links, request, session } = context
  const opened = await findAppsOpenElsewhere(runner, session.token)
  const list = await readList(runner, view, opened)
  const total = list.problem === undefined ? list.total : undefined
  const ids = form?.refused ? { refused: form.refused } : decidedIds(request.query)
  return {
    ...list,
    links,
    view,
    opened,
    isFilterValid: list.problem === undefined,
    problem: form?.problem ?? list.problem,
    records: await countAppsByState(
      runner,
      list.apps.map(({ developer_id }) => developer_id),
    ),
    categories: await findCategories(runner),
    developers: await findWaitingDevelopers(runner, view.queue),
    reasons: await findRejectionReasons(runner),
    notice: await readNotice(context, runner, ids, { view, total }),
    reason: form?.reason ?? '',
    selected: new Set(form?.selected),
    areOthersSelected: fieldOf(request.query, 'select') === 'all',
  }
}

type QueueList = {
  apps: QueuedApp[]
  /** More apps come after this. */
  last?: QueuePosition | undefined
  /** Apps that wait and pass the filter, and those before this page. */
  total: number
  upTo: number
  problem?: string
}

/** A filter that names nothing is a problem of the page, which keeps the filter. */
async function readList(
  runner: QueryRunner,
  { queue, filter, after }: QueueView,
  opened: ReadonlyMap<number, OpenedApp>,
): Promise<QueueList> {
  const walk = { queue, filter, openElsewhere: opened }
  try {
    const found = await walkQueue(runner, walk, after, maxSelected)
    return { ...found, ...(await countQueue(runner, walk, after)) }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    return { apps: [], total: 0, upTo: 0, problem: sentenceOf(error) }
  }
}

function filterForm({ links, view: { queue, filter }, categories, developers }: QueuePage) {
  const areAll = !isFiltered(filter)
  return html`<details class="filters"${!areAll && html` open`}>
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
    <button>Filter</button>
    ${!areAll && html`<a href="${links.queue({ queue, filter: {} })}">Show all</a>`}
  </form>
</details>`
}

const isFiltered = (filter: QueueView['filter']): boolean =>
  Object.values(filter).some((value) => value !== undefined)

/** The part of the queue that the list has. */
function summary({ apps, total, upTo, last, view, opened }: QueuePage) {
  const [first] = apps
  const waiting = html`${formatQuantity(total, 'app')} ${nounOf(total, 'waits', 'wait')}`
  if (total === 0)
    return isFiltered(view.filter) ? 'No apps match the filter.' : 'No apps wait for a decision.'
  if (!first) return html`No more apps after this point; ${waiting} in all.`
  const isWhole = !view.after && !last
  const isOpenElsewhere = opened.has(first.id)
  const leftOut = last ? 0 : total - upTo - apps.length
  return html`${isOpenElsewhere && 'Only apps that are open elsewhere are left. '}${waiting}, the longest first.${
    !isWhole && html` These are ${formatCount(upTo + 1)} to ${formatCount(upTo + apps.length)}.`
  }${leftOut > 0 && html` ${formatCount(leftOut)} of them ${nounOf(leftOut, 'is', 'are')} open elsewhere and left out.`}`
}

function decisionForm(page: QueuePage) {
  const { links, view, apps, selected, areOthersSelected } = page
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
  queuedApp(page, app, selected.has(formatReference(app)) || (areOthersSelected && !isMarked(app))),
)}
</ul>
<div class="bar bottom">
${alert(page.problem)}
<fieldset>
  <legend class="selected"></legend>
  ${noDefaultButton}
  <button name="decision" value="approve" class="approve" formnovalidate>Approve</button>
  ${reasonField(page.reason, page.reasons)}
  <button name="decision" value="reject" class="reject">${view.queue === 'changed' ? 'Take down' : 'Reject'}</button>
</fieldset>
</div>
</form>`
}

function queuedApp(
  { links, view, opened, records }: QueuePage,
  app: QueuedApp,
  isSelected: boolean,
) {
  const openedApp = opened.get(app.id)
  const changes = view.queue === 'changed' ? app.changes.map(shortChange) : []
  return html`
<li class="card">
  <label class="tick"><input type="checkbox" name="app" value="${formatReference(app)}"${isSelected && html` checked`}> <span class="hidden">Select ${app.name}</span></label>
  ${icon(app.name)}
  <div>
    <h2>${appLink(links, app, view)}</h2>
    <p class="quiet"><a href="${links.apps(app.developer_name)}"><bdi>${app.developer_name}</bdi></a> (${developerRecord(records.get(app.developer_id))}) · <bdi>${app.category_name}</bdi> · waits ${formatWait(app.waiting_since)}</p>
    ${openedApp && html`<p class="chips">${openChip(openedApp)}</p>`}
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
