import type { Actor } from '../actor.ts'
import type { Connection } from '../db/open.ts'
import type { AuditRow } from '../db/tables.ts'

/** What was done, in the words of the command or operation that did it. */
export type Action =
  | 'app create'
  | 'app update'
  | 'app delete'
  | 'app approve'
  | 'app reject'
  | 'app restore'
  | 'app transfer'
  | 'app import'
  | 'key issue'
  | 'key revoke'
  | 'developer rename'
  | 'category add'
  | 'category rename'

/** What an entry is about: an app and its owner, a developer, or a category. */
export type Subject = { app_id: number; developer_id: number } | { developer_id: number } | { category_id: number }

export const auditStore = ({ sql }: Connection) => ({
  /** Says what changed, in the transaction that changes it. `before` and `after` hold the columns that differ. */
  async record(
    action: Action,
    subject: Subject,
    actor: Actor,
    change: { before?: object; after: object },
    at = new Date().toISOString(),
  ) {
    const who = 'operator' in actor ? { operator: actor.operator } : { key_id: actor.keyId }
    const before = change.before === undefined ? null : JSON.stringify(change.before)
    await sql('audit').insert({ at, action, ...subject, ...who, before, after: JSON.stringify(change.after) })
  },

  /** All that was done to an app, oldest first. */
  ofApp(id: number): Promise<AuditRow[]> {
    return sql('audit').where({ app_id: id }).orderBy('id')
  },
})
