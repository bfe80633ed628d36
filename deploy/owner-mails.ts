import type { AuditEntry } from '../src/audit/audit-store.ts'
import type { Database } from '../src/db/database.ts'
import { required } from '../src/util/helpers.ts'
import { toSingleLine } from '../src/util/text.ts'
import { sendMail } from './send-mail.ts'

/** The actions that owners are told about, as they read them. */
export const outcomes: Record<string, string> = {
  'app approve': 'was approved',
  'app reject': 'was rejected',
  'app reopen': 'will be decided again',
  'app restore': 'was restored',
}

/** In a mail. */
const maxApps = 20

/**
 * Sends each owner with an address one mail about the entries, of which each is about another app.
 * Returns a problem for each mail that was refused. Throws if `sendmail` cannot be run.
 */
export async function mailOwners(
  entries: Iterable<AuditEntry>,
  baseUrl: string,
  database: Database,
): Promise<string[]> {
  const problems: string[] = []
  for (const [id, ofOwner] of Map.groupBy(entries, ownerOf)) {
    const owner = await database.read(({ sql }) =>
      sql('developers').where({ id }).first('name', 'contact'),
    )
    if (!owner?.contact) continue
    const subject =
      ofOwner.length === 1
        ? ofOwner.map(outcomeOf).join()
        : `${ofOwner.length} decisions about your apps`
    const name = toSingleLine(owner.name)
    const paragraphs = ofOwner.slice(0, maxApps).map((entry) => describe(entry, baseUrl))
    const more = ofOwner.length - maxApps
    if (more > 0) paragraphs.push(`And ${more} more, see GET ${baseUrl}/developer/apps`)
    paragraphs.push(`You get this mail because it is the contact of ${name} at ${baseUrl}`)
    const problem = sendMail(owner.contact, subject, paragraphs.join('\n\n'))
    if (problem !== undefined) problems.push(`no mail to ${name}: ${problem}`)
  }
  return problems
}

const ownerOf = ({ id, developer_id }: AuditEntry) =>
  required(developer_id, `the owner of the app of entry ${id}`)

/** A paragraph about an app. A name or a reason is one line, so that it looks like no other part. */
function describe(entry: AuditEntry, baseUrl: string): string {
  const { rejection_reason: reason } = entry.after
  const why = typeof reason === 'string' ? `\nReason: ${toSingleLine(reason)}` : ''
  const next =
    entry.action === 'app approve'
      ? `${baseUrl}/apps/${entry.app_id}`
      : `What you can do: ${baseUrl}/docs#/section/the-life-of-an-app`
  return `${outcomeOf(entry)}.${why}\n${next}`
}

function outcomeOf({ app_name, action, before }: AuditEntry): string {
  const isTakenDown = action === 'app reject' && before?.status === 'approved'
  return `${toSingleLine(app_name ?? '')} ${isTakenDown ? 'was taken down' : outcomes[action]}`
}
