/** The rows of each table as the driver returns them; `Generated` columns may be left out of an insert. */

type Generated<Row, Column extends keyof Row> = Omit<Row, Column> & Partial<Pick<Row, Column>>

export type AppStatus = 'pending' | 'approved' | 'rejected'

export type AppRow = {
  id: number
  developer_id: number
  category_id: number
  status: AppStatus
  deleted_at: string | null
  /** First approval; kept when the app is taken down. */
  approved_at: string | null
  /** Since when an app has differed from what an operator last decided on: an approved one, or a rejected one that became pending. */
  unreviewed_since: string | null
  created_at: string
  updated_at: string
  total_downloads: number
  average_rating: number
  review_count: number
  slug: string
  package_name: string | null
  package_key: string | null
  version: string
  name: string
  short_description: string | null
  rejection_reason: string | null
  description: string
}

export type ReviewRow = {
  id: number
  app_id: number
  rating: number
  created_at: string
  reviewer_name: string
  comment: string
}

type DeveloperRow = { id: number; name: string; created_at: string }
type CategoryRow = { id: number; slug: string; name: string; listed_apps: number }
type ApiKeyRow = {
  id: string
  developer_id: number
  name: string | null
  sha256: string
  created_at: string
  expires_at: string
  revoked_at: string | null
  last_used_at: string | null
}
export type AuditRow = {
  id: number
  at: string
  action: string
  app_id: number | null
  developer_id: number | null
  category_id: number | null
  key_id: string | null
  operator: string | null
  before: string | null
  after: string
}

type Table<Row, Column extends keyof Row> = import('knex').Knex.CompositeTableType<Row, Generated<Row, Column>>

declare module 'knex/types/tables.js' {
  interface Tables {
    developers: Table<DeveloperRow, 'id'>
    api_keys: Table<ApiKeyRow, 'name' | 'revoked_at' | 'last_used_at'>
    categories: Table<CategoryRow, 'id' | 'listed_apps'>
    apps: Table<
      AppRow,
      'id' | 'deleted_at' | 'unreviewed_since' | 'average_rating' | 'review_count' | 'rejection_reason'
    >
    slug_numbers: { slug: string; last: number }
    reviews: Table<ReviewRow, 'id'>
    audit: Table<AuditRow, 'id' | 'app_id' | 'developer_id' | 'category_id' | 'key_id' | 'operator' | 'before'>
  }
}
