import { findEntry } from '../../audit/read-entries.ts'
import { OperatorError } from '../../contract/errors.ts'
import type { QueryRunner } from '../../db/engine.ts'
import { type Html, html } from '../../http/html.ts'
import {
  type EntryFilter,
  findEntries,
  moderatorNames,
  namesInEntries,
} from '../../moderation/entries.ts'
import { findApps } from '../../moderation/finder.ts'
import { type FormFields, fieldOf, positiveInteger, timeInUtc } from '../forms.ts'
import { alert } from '../parts/components.ts'
import type { PageContext } from '../parts/context.ts'
import { entryList } from '../parts/entries.ts'
import { type ShownEntry, shortEntry, wholeEntry } from '../parts/excerpts.ts'
import { sentenceOf } from '../parts/labels.ts'
import { layout, readFrame } from '../parts/layout.ts'

/** The audit log, the newest entries first. */

/** Entries of a page. */
const pageSize = 100

type Read = PageContext['database']['read']

export async function auditPage(context: PageContext): Promise<Html> {
  const { database, links, request, response } = context
  const { query, signal } = request
  const form = parseForm(query)
  const entry = fieldOf(query, 'entry')
  // Not expensive: each batch is short, and would wait behind all searches again.
  const read: Read = (work) => database.read(work, { signal })
  const list = await (entry ? readEntry(read, entry) : readEntries(read, query, form)).catch(
    (error: unknown): AuditList => {
      if (!(error instanceof OperatorError)) throw error
      response.status(400)
      return { filter: {}, entries: [], hasOlder: false, problem: sentenceOf(error) }
    },
  )
  const { filter, entries } = list
  const isOneEntry = entry !== ''
  const isFiltered = Object.values(form).some((value) => value !== '')
  const isPart = filter.before !== undefined || isOneEntry
  return read(async (runner) => {
    const names = await namesInEntries(runner, entries)
    const moderators = await moderatorNames(runner)
    return layout(
      await readFrame(context, runner, 'audit'),
      'Audit log',
      html`<h1>Audit log</h1>
${alert(list.problem)}
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
  ${list.hasOlder && html`<a rel="next" href="${links.audit({ ...filter, before: entries[0]?.id })}">Older</a>`}
</nav>`,
    )
  })
}

/** As the field takes it, unless it was refused. */
const shownTime = (given: string, time: string | undefined) => time?.slice(0, 16) ?? given

/** The fields of the filter, as they were given. */
type AuditForm = Record<'app' | 'developer' | 'moderator' | 'until' | 'since', string>

const parseForm = (query: FormFields): AuditForm => ({
  app: fieldOf(query, 'app').trim(),
  developer: fieldOf(query, 'developer').trim(),
  moderator: fieldOf(query, 'moderator').trim(),
  until: fieldOf(query, 'until'),
  since: fieldOf(query, 'since'),
})

type AuditList = {
  filter: EntryFilter
  entries: ShownEntry[]
  hasOlder: boolean
  problem?: string
}

/** One entry, whole. */
async function readEntry(read: Read, entry: string): Promise<AuditList> {
  const id = positiveInteger('the entry', entry)
  const found = await read((runner) => findEntry(runner, id))
  return { filter: {}, entries: found ? [wholeEntry(found)] : [], hasOlder: false }
}

async function readEntries(read: Read, query: FormFields, form: AuditForm): Promise<AuditList> {
  const before = fieldOf(query, 'before')
  const filter: EntryFilter = {
    app: form.app ? await read((runner) => findFirstApp(runner, form.app)) : undefined,
    developer: form.developer || undefined,
    moderator: form.moderator || undefined,
    until: form.until ? timeInUtc('"Begin before"', form.until) : undefined,
    since: form.since ? timeInUtc('"Stop at"', form.since) : undefined,
    before: before ? positiveInteger('before', before) : undefined,
  }
  return { filter, ...(await findEntries(read, filter, pageSize, shortEntry)) }
}

/** The first app that a text names. Throws an OperatorError if there is none. */
async function findFirstApp(runner: QueryRunner, text: string): Promise<number> {
  const [id] = (await findApps(runner, text, 1)).ids
  if (id === undefined) throw new OperatorError(`there is no app ${JSON.stringify(text)}`)
  return id
}
