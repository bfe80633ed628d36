import type { AppRow } from '../db/rows.ts'

/**
 * The uses of each column of an app. Lists of columns are filters of this record, in its order. A
 * column that is missing here does not compile; a test compares the uses with the document.
 */

export type AppColumn = keyof AppRow

/**
 * - `owner`: owners can change it, so that moderators see its changes.
 * - `audited`: the audit log records its changes.
 * - `public`: everybody sees it of a listed app, so that the public export has it.
 * - `imported`: a catalogue file has it, under the same name.
 * - `queue`: moderators see it of each app in a list that has one, without opening the app.
 * - `address`: it is the address of a website, whose host moderators must see.
 */
type Use = 'owner' | 'audited' | 'public' | 'imported' | 'queue' | 'address'

const ownerText = ['owner', 'audited', 'public', 'imported'] as const

/** The moderators' name for a column, null if they do not see it by itself, and its uses. */
type ColumnUses = Readonly<{ label: string | null; uses: readonly Use[] }>

export const appColumns = {
  name: { label: 'Name', uses: ownerText },
  short_description: { label: 'In short', uses: ownerText },
  description: { label: 'Description', uses: ownerText },
  version: { label: 'Version', uses: ownerText },
  package_name: { label: 'Package name', uses: ownerText },
  website_url: { label: 'Website', uses: [...ownerText, 'queue', 'address'] },
  source_code_url: { label: 'Source code', uses: [...ownerText, 'queue', 'address'] },
  icon_url: { label: 'Icon', uses: [...ownerText, 'queue', 'address'] },
  license: { label: 'Licence', uses: [...ownerText, 'queue'] },
  keywords: { label: 'Keywords', uses: [...ownerText, 'queue'] },
  category_id: { label: 'Category', uses: ['owner', 'audited', 'public'] },
  status: { label: 'Status', uses: ['audited', 'public', 'imported'] },
  rejection_reason: { label: 'Reason', uses: ['audited', 'imported'] },
  // A public export has it as null, which brings back an app that was hidden before.
  deleted_at: { label: null, uses: ['audited', 'public', 'imported'] },
  developer_id: { label: 'Developer', uses: ['audited'] },
  approved_at: { label: 'First approved', uses: ['audited', 'public', 'imported'] },
  total_downloads: { label: 'Downloads', uses: ['audited', 'public', 'imported'] },
  // The field of this name in a file is the average of the ratings without a review.
  average_rating: { label: null, uses: ['audited', 'public'] },
  other_rating_count: { label: null, uses: ['audited'] },
  other_rating_sum: { label: null, uses: [] },
  rating_count: { label: 'Ratings', uses: ['public'] },
  rating_sum: { label: null, uses: [] },
  weighted_rating: { label: null, uses: [] },
  review_count: { label: 'Reviews', uses: ['public'] },
  id: { label: 'App', uses: ['public', 'imported'] },
  slug: { label: null, uses: ['public', 'imported'] },
  created_at: { label: 'Created', uses: ['public', 'imported'] },
  updated_at: { label: 'Updated', uses: ['public', 'imported'] },
  changed_at: { label: null, uses: [] },
  unreviewed_since: { label: 'Changed since', uses: [] },
  unreviewed_changes: { label: null, uses: [] },
  decided_at: { label: null, uses: [] },
  package_key: { label: null, uses: [] },
  revision: { label: null, uses: [] },
} as const satisfies Record<AppColumn, ColumnUses>

/** The columns that moderators see by their labels. */
export type LabelledColumn = {
  [Column in AppColumn]: (typeof appColumns)[Column] extends { label: string } ? Column : never
}[AppColumn]

type ColumnWith<Wanted extends Use> = {
  [Column in AppColumn]: Wanted extends (typeof appColumns)[Column]['uses'][number] ? Column : never
}[AppColumn]

function columnsWith<Wanted extends Use>(use: Wanted): readonly ColumnWith<Wanted>[] {
  const columns = Object.keys(appColumns) as AppColumn[]
  return columns.filter((column): column is ColumnWith<Wanted> => hasUse(column, use))
}

const hasUse = (column: AppColumn, use: Use) =>
  (appColumns[column].uses as readonly Use[]).includes(use)

export type OwnerColumn = ColumnWith<'owner'>
export type ImportedColumn = ColumnWith<'imported'>

/** Of a new app without a version, as the document says. */
export const defaultVersion = '1.0.0'

export const ownerColumns = columnsWith('owner')
export const ownerTexts = ownerColumns.filter((column) => column !== 'category_id')
export const queueColumns = columnsWith('queue')
export const auditedColumns = columnsWith('audited')
export const importedColumns = columnsWith('imported')
export const addressColumns = columnsWith('address')

/** Whether the column, or the field of this name, has addresses of websites. */
export const isAddressColumn = (column: string): boolean =>
  Object.hasOwn(appColumns, column) && hasUse(column as AppColumn, 'address')

/** Whether everybody sees the field of a listed app. Fields that are no columns are public. */
export const isPublicField = (field: string): boolean =>
  !(field in appColumns) || hasUse(field as AppColumn, 'public')
