import { domainToUnicode } from 'node:url'
import type { Account } from '../accounts/account-store.ts'
import { keyPrefix } from '../accounts/keys.ts'
import {
  appColumns,
  isAddressColumn,
  type LabelledColumn,
  ownerTexts,
} from '../catalogue/app-columns.ts'
import type { OldestWaiting } from '../catalogue/app-states.ts'
import type { NamedAppRow } from '../catalogue/app-store.ts'
import { readableValue } from '../catalogue/keywords.ts'
import type { LookAlike } from '../catalogue/look-alikes.ts'
import { formatReference } from '../contract/field-rules.ts'
import { formatCommand } from '../util/command.ts'
import { pick } from '../util/helpers.ts'
import { formatCount, formatMegabytes, formatQuantity, lengthOf, shorten } from '../util/text.ts'
import { formatAge, formatMinute } from '../util/time.ts'
import { formatOperator } from './describe-entry.ts'
import type { CatalogueStatus, Status } from './status.ts'

/** Apps and the catalogue in words, for the command line and the moderation page. */

/** Texts by their labels; null is left out. */
export type Fields = Record<string, string | number | null>

export const popularityOf = ({ status, total_downloads }: LookAlike): string =>
  status === 'pending' ? 'pending' : formatQuantity(total_downloads, 'download')

export const formatLookAlike = (app: LookAlike): string =>
  `${app.id} ${app.name} by ${app.developer_name}, ${popularityOf(app)}`

/** Characters of a text in a list, of which each has at most six bytes of HTML: a quotation mark. */
export const maxExcerptLength = 200

/**
 * An address as browsers send it, and its host as people read it in brackets if that differs:
 * `https://xn--mnchen-3ya.example/x (münchen.example)`. If it is longer than `size` characters, …
 * ends what follows its host, which is always whole. An address that browsers cannot open, as one
 * that older rules accepted may be, is as it was sent.
 */
export function formatAddress(address: string, size = Number.POSITIVE_INFINITY): string {
  const url = URL.parse(address)
  if (!url) return shorten(address, size, lengthOf)
  const { href, hostname, pathname, search, hash } = url
  const readable = domainToUnicode(hostname)
  const suffix = readable === hostname ? '' : ` (${readable})`
  if (href.length + suffix.length <= size) return href + suffix
  const originLength = href.length - `${pathname}${search}${hash}`.length
  const end = Math.max(originLength, size - suffix.length - 1)
  return end < href.length ? `${href.slice(0, end)}…${suffix}` : href + suffix
}

export function appFields({ app, developer }: { app: NamedAppRow; developer: Account }): Fields {
  const states = Object.entries(developer.apps).map(([state, count]) => `${count} ${state}`)
  // The description is shown below.
  const { description: _, short_description, ...texts } = pick(app, ...ownerTexts)
  // A column with a label that is missing here does not compile.
  const values: Record<Exclude<LabelledColumn, 'description'>, Fields[string]> = {
    id: `${formatReference(app)} (${app.slug})`,
    status: app.status + (app.deleted_at ? `, deleted at ${app.deleted_at}` : ''),
    rejection_reason: app.rejection_reason,
    // A reopened app waits, too, without a change.
    unreviewed_since: app.unreviewed_changes === null ? null : app.unreviewed_since,
    ...texts,
    category_id: `${app.category_name} (${app.category_slug})`,
    developer_id: `${developer.name}: ${states.join(', ')}`,
    total_downloads: app.total_downloads,
    rating_count:
      app.rating_count === 0 ? 'none' : `${app.rating_count}, ${app.average_rating} on average`,
    review_count: app.review_count,
    created_at: app.created_at,
    approved_at: app.approved_at,
    updated_at: app.updated_at,
    short_description,
  }
  const columns = Object.keys(values) as (keyof typeof values)[]
  const shown = (column: keyof typeof values) => {
    const value = values[column]
    if (typeof value !== 'string') return value
    return isAddressColumn(column) ? formatAddress(value) : readableValue(column, value)
  }
  return Object.fromEntries(columns.map((column) => [appColumns[column].label, shown(column)]))
}

export function statusFields(status: Status): Fields {
  const { engine, bytes, free_bytes, pending_migrations, catalogue } = status
  const free = free_bytes === null ? '' : `, ${formatMegabytes(free_bytes)} free`
  return {
    ...(catalogue && catalogueFields(catalogue)),
    Database: `${engine}, ${formatMegabytes(bytes)}${free}`,
    Migrations:
      pending_migrations.length === 0
        ? null
        : `missing: ${pending_migrations.join(', ')}; run ${formatCommand('migrate')}`,
  }
}

function catalogueFields(catalogue: CatalogueStatus): Fields {
  const { apps, expiring_keys, last_import } = catalogue
  const [firstKey] = expiring_keys
  return {
    Pending: formatQueue(apps.pending, catalogue.oldest_pending),
    Changed: formatQueue(apps.changed, catalogue.oldest_changed),
    Approved: formatCount(apps.approved),
    Rejected: formatCount(apps.rejected),
    Deleted: formatCount(apps.deleted),
    Developers: formatCount(catalogue.developers),
    'Expiring keys': firstKey
      ? `${formatCount(expiring_keys.length)} within 30 days, first ${keyPrefix(firstKey.id)} of ${firstKey.developer_name} on ${formatMinute(firstKey.expires_at)}`
      : '0 within 30 days',
    'Last import': last_import
      ? `${formatMinute(last_import.at)} by ${formatOperator(last_import)}`
      : 'none',
  }
}

const formatQueue = (count: number, oldest: OldestWaiting | null) =>
  oldest
    ? `${formatCount(count)}, longest for ${formatAge(oldest.waiting_since)}: ${oldest.id} ${oldest.name}`
    : '0'
