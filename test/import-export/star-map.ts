import { noRatings, ratingColumns } from '../../src/catalogue/ratings.ts'
import { type AppRow, appDefaults } from '../../src/db/rows.ts'
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
  ...appDefaults,
  id: 7,
  developer_id: 1,
  category_id: 2,
  status: 'approved',
  approved_at: time(2),
  created_at: time(1),
  updated_at: time(3),
  changed_at: time(3),
  total_downloads: 5,
  ...ratingColumns(noRatings),
  slug: 'star-map',
  package_name: 'org.example.stars',
  package_key: 'org.example.stars',
  version: '1.0.0',
  name: 'Star Map',
  description: 'The sky.',
  revision: 'first',
}
