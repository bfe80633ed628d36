import { type Html, html } from '../../http/html.ts'
import type { EntryFilter, NamesById } from '../../moderation/entries.ts'
import { alert } from './components.ts'
import { entryList } from './entries.ts'
import type { ShownEntry } from './excerpts.ts'
import { type Frame, layout } from './layout.ts'

/** The audit log, the newest entries first. */

/** The fields of the filter. */
export type AuditForm = Record<'app' | 'developer' | 'moderator' | 'until' | 'since', string>

export type AuditList = { filter: EntryFilter; entries: ShownEntry[]; hasOlder: boolean }

export type AuditPage = AuditList & {
  /** As it was given, even if it is refused. */
  form: AuditForm
  /** Whether the page shows an entry whole, and no others. */
  isOneEntry: boolean
  names: NamesById
  moderators: string[]
  problem?: string | undefined
}

export function auditPage(frame: Frame, page: AuditPage): Html {
  const { form, filter, isOneEntry, entries, names, moderators } = page
  const { links } = frame
  const isFiltered = Object.values(form).some((value) => value !== '')
  const isPart = filter.before !== undefined || isOneEntry
  return layout(
    frame,
    'Audit log',
    html`<h1>Audit log</h1>
${alert(page.problem)}
<details class="filters"${isFiltered && html` open`}>
  <summary>Filter</summary>
  <form method="get" action="${links.audit()}" role="search">
    <label>App <input name="app" value="${form.app}"></label>
    <label>or developer <input name="developer" value="${form.developer}"></label>
    <label>or moderator <input name="moderator" list="moderators" autocomplete="off" value="${form.moderator}"></label>
    <datalist id="moderators">${moderators.map((name) => html`<option value="${name}">`)}</datalist>
    <label>Begin before (UTC) <input type="datetime-local" name="until" value="${shownTime(form.until, filter.until)}"></label>
    <label>Stop at (UTC) <input type="datetime-local" name="since" value="${shownTime(form.since, filter.since)}"></label>
    <button>Filter</button>
    ${(isFiltered || isPart) && html`<a href="${links.audit()}">Show all</a>`}
  </form>
</details>
<p class="quiet">Times are in UTC.</p>
<div class="card">
${entryList(entries, { links, names, areOpen: isOneEntry })}
</div>
<nav class="pages" aria-label="Pages of the audit log">
  ${filter.before !== undefined && html`<a href="${links.audit({ ...filter, before: undefined })}">Newest</a>`}
  ${page.hasOlder && html`<a rel="next" href="${links.audit({ ...filter, before: entries[0]?.id })}">Older</a>`}
</nav>`,
  )
}

/** As the field takes it, unless it was refused. */
const shownTime = (given: string, time: string | undefined) => time?.slice(0, 16) ?? given
