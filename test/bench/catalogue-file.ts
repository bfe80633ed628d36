import { once } from 'node:events'

/** Writes a catalogue file of so many synthetic apps, with three reviews each, to standard output; the same every time. */

const size = Number(process.argv[2] ?? 1_000_000)

let state = 1
const random = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}
const below = (limit: number) => Math.floor(random() * limit)
const syllables = [
  'ba',
  'ko',
  'ti',
  'ru',
  'mel',
  'sor',
  'an',
  'pi',
  'qua',
  'den',
  'lo',
  'vex',
  'zi',
  'ham',
  'gre',
  'tos',
]
const vocabulary = Array.from({ length: 20_000 }, () =>
  Array.from({ length: 2 + below(3) }, () => syllables[below(16)]).join(''),
)
/** Some words are far more common than others. */
const word = () => vocabulary[Math.floor(vocabulary.length * random() ** 4)] ?? ''
const words = (count: number) => Array.from({ length: count }, word).join(' ')
const time = (seconds: number) => new Date(1_600_000_000_000 + seconds * 1000).toISOString()

function line(number: number): string {
  const app = {
    name: `${words(2 + below(2))} ${number % 10 === 0 ? '日本語' : ''}`.trim(),
    short_description: words(6),
    description: words(60),
    version: `1.${number % 30}.0`,
    package_name: `org.example.app${number}`,
    category: { slug: `category-${number % 20}`, name: `Category ${number % 20}` },
    developer_name: `Developer ${below(size / 20)}`,
    status: number % 20 === 7 ? 'pending' : 'approved',
    total_downloads: Math.floor(1_000_000 * random() ** 6),
    created_at: time(number),
    reviews: Array.from({ length: 3 }, (_, index) => ({
      reviewer_name: `Reviewer ${below(100_000)}`,
      rating: 1 + below(5),
      comment: words(10),
      created_at: time(number + index * 1000),
    })),
  }
  return `${JSON.stringify(app)}\n`
}

for (let number = 0; number < size; number++) {
  if (!process.stdout.write(line(number))) await once(process.stdout, 'drain')
}
