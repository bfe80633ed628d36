import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { importLines } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openEmptyCatalogue } from '../support/database.ts'

/**
 * The lines of a batch do not read each other's results, so lines that depend on each other must be
 * in different batches. Otherwise it would matter how a catalogue is divided into files.
 */

type Line = {
  developer_name: string
  name: string
  slug?: string
  package_name?: string
  version?: string
}

const ada = { developer_name: 'Ada', name: 'Star' }
const bob = { ...ada, developer_name: 'Bob' }
const a = 'org.example.a'
const b = 'org.example.b'

/** Sequences whose last lines depend on the numbers in the slugs of the lines before. */
const numbered: Line[][] = [
  [ada, { ...ada, package_name: a }, { ...ada, slug: 'star-2', version: '2' }],
  [ada, { ...ada, package_name: a }, { ...bob, slug: 'star-2' }],
  [ada, { ...ada, package_name: a }, { ...ada, name: 'Star 2', package_name: b }],
  [ada, { ...bob, slug: 'star-2' }, { ...ada, package_name: a }, { ...ada, package_name: b }],
]

const anyLines: fc.Arbitrary<Line[]> = fc.array(
  fc.record(
    {
      developer_name: fc.constantFrom('Ada', 'Bob'),
      name: fc.constantFrom('Star', 'Star 2', 'Moon'),
      slug: fc.constantFrom('star', 'star-2', 'star-3', 'moon'),
      package_name: fc.constantFrom(a, a.toUpperCase(), b),
      version: fc.constantFrom('1', '2', '3'),
    },
    { requiredKeys: ['developer_name', 'name'] },
  ),
  { minLength: 2, maxLength: 7 },
)

/** PostgreSQL would analyze its tables after each of the many imports. */
const openUnoptimized = async (): Promise<Database> => ({
  ...(await openEmptyCatalogue()),
  optimize: async () => {},
})

test('one file has the same effect as a file for each of its lines', async () => {
  const [together, apart] = [await openUnoptimized(), await openUnoptimized()]
  let run = 0
  const property = fc.asyncProperty(anyLines, async (lines) => {
    // Each run has its own names, so that it begins without apps.
    const mark = `x${++run}x`
    const own = (text: string) => text.replace(/star|moon/i, (word) => word + mark)
    const file = lines.map(({ name, slug, package_name, ...line }) => ({
      ...line,
      name: own(name),
      description: 'The sky above you.',
      category: { slug: 'tools', name: 'Tools' },
      ...(slug && { slug: own(slug) }),
      ...(package_name && { package_name: package_name + mark }),
    }))
    const apps = (database: Database) =>
      database.read(({ sql }) =>
        sql('apps')
          .where('slug', 'like', `%${mark}%`)
          .orderBy('id')
          .select('developer_id', 'name', 'slug', 'package_name', 'version'),
      )

    const { created, updated, rejects } = await importLines(together, file)
    const expected = { created: 0, updated: 0, rejects: [] as typeof rejects }
    for (const [index, line] of file.entries()) {
      const one = await importLines(apart, [line])
      expected.created += one.created
      expected.updated += one.updated
      expected.rejects.push(...one.rejects.map((reject) => ({ ...reject, line: index + 1 })))
    }
    expect({ created, updated, rejects }).toEqual(expected)
    expect(await apps(together)).toEqual(await apps(apart))
  })
  await fc.assert(property, { numRuns: 40, examples: numbered.map((lines) => [lines]) })
  await expectConsistent(together)
})
