import { noRatings, ratingColumns } from '../../src/catalogue/ratings.ts'
import type { AppRow } from '../../src/db/rows.ts'
import type { Line } from '../../src/import-export/line.ts'

/** An app, and the least line that describes one like it. */

export const time = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()

export const line: Line = {
  name: 'Star Map',
  description: 'The sky.',
  category: 'tools',
  developer_name: 'Ada',
}

export const app: AppRow = {
  id: 7,
  developer_id: 1,
  category_id: 2,
  status: 'approved',
  deleted_at: null,
  approved_at: time(2),
  unreviewed_since: null,
  unreviewed_changes: null,
  created_at: time(1),
  updated_at: time(3),
  changed_at: time(3),
  total_downloads: 5,
  other_rating_sum: 0,
  other_rating_count: 0,
  ...ratingColumns(noRatings),
  review_count: 0,
  slug: 'star-map',
  package_name: 'org.example.stars',
  package_key: 'org.example.stars',
  version: '1.0.0',
  name: 'Star Map',
  short_description: null,
  website_url: null,
  source_code_url: null,
  license: null,
  decided_at: null,
  rejection_reason: null,
  description: 'The sky.',
  revision: 'first',
}
