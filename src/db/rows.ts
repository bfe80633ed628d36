import type { App } from '../contract/contract.ts'

/** The rows of each table as the driver returns them. */

export type AppStatus = App['status']

/** T with each optional field required and nullable, as in a row; keywords are one JSON text. */
export type Nullable<T> = {
  [Field in keyof T]-?: Record<never, never> extends Pick<T, Field>
    ? (Field extends 'keywords' ? string : Exclude<T[Field], undefined>) | null
    : T[Field]
}

/** The fields of an `App` that other tables have. */
type JoinedField = 'developer_name' | 'category_name' | 'category_slug' | 'reviews'

/** The OpenAPI document describes most columns. */
export type AppRow = Nullable<Omit<App, JoinedField>> & {
  developer_id: number
  deleted_at: string | null
  /** When the owner first changed the app after the last decision. */
  unreviewed_since: string | null
  /**
   * JSON: the former values of the fields that the owner has changed since; catalogue/policy.ts
   * reads and writes it.
   */
  unreviewed_changes: string | null
  /**
   * When an operator last approved or rejected the app; null if it was imported with its status, and
   * of decisions before version 2.2.
   */
  decided_at: string | null
  /** When the row or one of its reviews was last written in this database. */
  changed_at: string
  /** Sums of ratings are whole numbers of hundredths. These ratings came without a review. */
  other_rating_sum: number
  other_rating_count: number
  /** Of all ratings. */
  rating_sum: number
  /** The sort key of the order by rating; catalogue/ratings.ts computes it. */
  weighted_rating: number
  package_key: string | null
  /** Renewed by each change that matters to a decision; catalogue/app-store.ts. */
  revision: string
}

type NullableColumn<Row> = {
  [Column in keyof Row]: null extends Row[Column] ? Column : never
}[keyof Row]

/** Columns that an insert may leave out: all that can be null, and ratings. */
export const appDefaults = {
  short_description: null,
  package_name: null,
  website_url: null,
  source_code_url: null,
  icon_url: null,
  license: null,
  keywords: null,
  rejection_reason: null,
  approved_at: null,
  deleted_at: null,
  unreviewed_since: null,
  unreviewed_changes: null,
  decided_at: null,
  average_rating: 0,
  review_count: 0,
  other_rating_sum: 0,
  other_rating_count: 0,
  rating_sum: 0,
  rating_count: 0,
  weighted_rating: 0,
} as const satisfies Partial<AppRow> & Record<Exclude<NullableColumn<AppRow>, 'package_key'>, null>

export type ReviewRow = {
  id: number
  app_id: number
  rating: number
  created_at: string
  reviewer_name: string
  comment: string
}

type DeveloperRow = {
  id: number
  name: string
  created_at: string
  changed_at: string
  /** The e-mail address that gets decisions about the developer's apps. Private, as keys are. */
  contact: string | null
}
export type CategoryRow = {
  id: number
  slug: string
  name: string
  listed_apps: number
  created_at: string
  changed_at: string
}
export type ApiKeyRow = {
  id: string
  developer_id: number
  name: string | null
  sha256: string
  created_at: string
  expires_at: string
  revoked_at: string | null
  last_used_at: string | null
  /** The only app that the key is for, which another developer may have by now. */
  app_id: number | null
  /** 1 if the key is only for reading, otherwise 0. */
  read_only: number
}
/**
 * A person who signs in to the moderation page; the id is that of the sign-in key. The database calls
 * moderators operators: `operators`, `operator_sessions`, `operator_id`.
 */
export type ModeratorRow = Omit<ApiKeyRow, 'developer_id' | 'name' | 'app_id' | 'read_only'> & {
  name: string
}
/** A session of the moderation page, which may have expired. */
type ModeratorSessionRow = {
  /** Hash of the token in the cookie. */
  sha256: string
  operator_id: string
  /** Stored at most every five minutes, so later uses may be missing. */
  last_used_at: string
  /** The app that was last opened from a queue, which may have been decided. */
  opened_app_id: number | null
  opened_at: string | null
}
type IdempotencyKeyRow = {
  id: number
  developer_id: number
  key: string
  body_hash: string
  app_id: number | null
  created_at: string
}
export type AuditRow = {
  id: number
  at: string
  action: string
  app_id: number | null
  developer_id: number | null
  category_id: number | null
  key_id: string | null
  /** The account on the machine. */
  operator: string | null
  /** The name that `OPERATOR` claimed, or that of the moderator; null in entries without it. */
  operator_name: string | null
  /** The moderator's sign-in key; null if the name was only claimed. */
  operator_id: string | null
  before: string | null
  after: string
}

/** Columns that can be null, and `Defaulted` ones, may be left out of an insert. */
type Table<Row, Defaulted extends keyof Row = never> = import('knex').Knex.CompositeTableType<
  Row,
  Omit<Row, NullableColumn<Row> | Defaulted> & Partial<Pick<Row, NullableColumn<Row> | Defaulted>>
>

declare module 'knex/types/tables.js' {
  interface Tables {
    developers: Table<DeveloperRow, 'id'>
    api_keys: Table<ApiKeyRow, 'read_only'>
    categories: Table<CategoryRow, 'id' | 'listed_apps'>
    apps: Table<AppRow, 'id' | keyof typeof appDefaults>
    catalogue_version: { id: number; value: string }
    slug_numbers: { slug: string; last: number }
    operators: Table<ModeratorRow>
    operator_sessions: Table<ModeratorSessionRow>
    reviews: Table<ReviewRow, 'id'>
    idempotency_keys: Table<IdempotencyKeyRow, 'id'>
    audit: Table<AuditRow, 'id'>
  }
}
