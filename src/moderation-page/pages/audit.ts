import type { Response } from 'express'
import { findEntry } from '../../audit/audit-store.ts'
import { OperatorError } from '../../contract/errors.ts'
import type { QueryRunner } from '../../db/engine.ts'
import type { Html } from '../../http/html.ts'
import {
  type EntryFilter,
  findEntries,
  moderatorNames,
  namesInEntries,
} from '../../moderation/entries.ts'
import { findApps } from '../../moderation/finder.ts'
import { type FormFields, fieldOf, positiveInteger, timeInUtc } from '../forms.ts'
import { type AuditForm, type AuditList, auditPage } from '../parts/audit.ts'
import { shortEntry, wholeEntry } from '../parts/excerpts.ts'
import { sentenceOf } from '../parts/labels.ts'
import { type PageContext, readFrame } from './page.ts'

/** Entries of a page. */
const pageSize = 100

type Read = <T>(work: (runner: QueryRunner) => Promise<T>) => Promise<T>

export async function renderAudit(context: PageContext, response: Response): Promise<Html> {
  const { query, signal } = response.req
  const form = parseForm(query)
  const entry = fieldOf(query, 'entry')
  // Not expensive: each batch is short, and would wait behind all searches again.
  const read: Read = (work) => context.database.read(work, { signal })
  const list = await (entry ? readEntry(read, entry) : readEntries(read, query, form)).catch(
    (error: unknown) => {
      if (!(error instanceof OperatorError)) throw error
      response.status(400)
      return { filter: {}, entries: [], hasOlder: false, problem: sentenceOf(error) }
    },
  )
  return read(async (runner) =>
    auditPage(await readFrame(context, runner, response, 'audit'), {
      ...list,
      form,
      isOneEntry: entry !== '',
      names: await namesInEntries(runner, list.entries),
      moderators: await moderatorNames(runner),
    }),
  )
}

const parseForm = (query: FormFields): AuditForm => ({
  app: fieldOf(query, 'app').trim(),
  developer: fieldOf(query, 'developer').trim(),
  moderator: fieldOf(query, 'moderator').trim(),
  until: fieldOf(query, 'until'),
  since: fieldOf(query, 'since'),
})

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
