import type { AuditEntry } from '../src/audit/audit-store.ts'
import type { Database } from '../src/db/database.ts'
import { required } from '../src/util/helpers.ts'
import { toSingleLine } from '../src/util/text.ts'
import { RefusedMail, sendMail } from './send-mail.ts'

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
    const [entry, ...others] = ofOwner
    const subject =
      entry && others.length === 0
        ? outcomeOf(entry)
        : `${ofOwner.length} decisions about your apps`
    const name = toSingleLine(owner.name)
    const footer = `You get this mail because it is the contact of ${name} at ${baseUrl}`
    try {
      sendMail(owner.contact, subject, [...describe(ofOwner, baseUrl), footer].join('\n\n'))
    } catch (error) {
      if (!(error instanceof RefusedMail)) throw error
      problems.push(`no mail to ${name}: ${error.message}`)
    }
  }
  return problems
}

const ownerOf = ({ id, developer_id }: AuditEntry) =>
  required(developer_id, `the owner of the app of entry ${id}`)

/** A paragraph for each app. A name or a reason is one line, so that it looks like no other part. */
function describe(entries: AuditEntry[], baseUrl: string): string[] {
  const more = entries.length - maxApps
  return [
    ...entries.slice(0, maxApps).map((entry) => {
      const { rejection_reason: reason } = entry.after
      return [
        `${outcomeOf(entry)}.`,
        ...(typeof reason === 'string' ? [`Reason: ${toSingleLine(reason)}`] : []),
        entry.action === 'app approve'
          ? `${baseUrl}/apps/${entry.app_id}`
          : `What you can do: ${baseUrl}/docs#/section/the-life-of-an-app`,
      ].join('\n')
    }),
    ...(more > 0 ? [`And ${more} more, see GET ${baseUrl}/developer/apps`] : []),
  ]
}

function outcomeOf({ app_name, action, before }: AuditEntry): string {
  const isTakenDown = action === 'app reject' && before?.status === 'approved'
  return `${toSingleLine(app_name ?? '')} ${isTakenDown ? 'was taken down' : outcomes[action]}`
}
