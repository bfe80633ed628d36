import type { Actor } from '../actor.ts'
import { type Connection, insertRows } from '../db/open.ts'
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

/** `before` and `after` hold the columns that differ. */
export type AuditEntry = { action: Action; at: string; subject: Subject; before?: object; after: object }

export const auditStore = ({ sql }: Connection) => ({
  /** Says what changed, in the transaction that changes it. */
  async record(entries: AuditEntry[], actor: Actor) {
    const who =
      'operator' in actor ? { operator: actor.operator, key_id: null } : { operator: null, key_id: actor.keyId }
    const nothing = { app_id: null, developer_id: null, category_id: null }
    const rows = entries.map(({ action, at, subject, before, after }) => ({
      at,
      action,
      ...nothing,
      ...subject,
      ...who,
      before: before === undefined ? null : JSON.stringify(before),
      after: JSON.stringify(after),
    }))
    await insertRows(sql, 'audit', rows)
  },

  /** All that was done to an app, oldest first. */
  ofApp(id: number): Promise<AuditRow[]> {
    return sql('audit').where({ app_id: id }).orderBy('id')
  },
})
