import { randomFrom } from '../../support/random.ts'
import { vocabulary } from './catalogue.ts'

/**
 * The lines of a catalogue file of synthetic apps with three reviews each. The same size always
 * gives the same lines.
 */
export function* catalogueLines(size: number): Generator<string> {
  const { next, pick, pickZipf } = randomFrom(size)
  const below = (limit: number) => Math.floor(next() * limit)
  const words = (count: number) =>
    Array.from({ length: count }, () => pickZipf(vocabulary)).join(' ')
  const time = (seconds: number) => new Date(1_600_000_000_000 + seconds * 1000).toISOString()

  for (let number = 0; number < size; number++) {
    const app = {
      name: `${words(2 + below(2))} ${number % 10 === 0 ? '日本語' : ''}`.trim(),
      short_description: words(6),
      description: words(60),
      version: `1.${number % 30}.0`,
      package_name: `org.example.app${number}`,
      category: { slug: `category-${number % 20}`, name: `Category ${number % 20}` },
      developer_name: `Developer ${below(size / 20)}`,
      status: number % 20 === 7 ? 'pending' : 'approved',
      total_downloads: below(10 ** pick([2, 3, 4, 5, 6])),
      created_at: time(number),
      reviews: Array.from({ length: 3 }, (_, index) => ({
        reviewer_name: `Reviewer ${below(100_000)}`,
        rating: 1 + below(5),
        comment: words(10),
        created_at: time(number + index * 1000),
      })),
    }
    yield `${JSON.stringify(app)}\n`
  }
}
