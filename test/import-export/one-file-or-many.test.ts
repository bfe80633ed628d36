import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Database } from '../../src/db/database.ts'
import { importLines } from '../support/catalogue-file.ts'
import { expectConsistent } from '../support/consistency.ts'
import { openEmptyCatalogue } from '../support/database.ts'
import { seed } from '../support/random.ts'

/**
 * The lines of a batch do not read each other's results, so lines that depend on each other must be
 * in different batches. Otherwise the result would depend on where a batch ends, which is chance.
 */

type Line = {
  developer_name: string
  name: string
  slug?: 'star' | 'moon' | 'sun'
  package_name?: string | null
  version?: string
  created_at?: string
}

const developer_name = fc.constantFrom('Ada', 'Bob')
const slug = fc.constantFrom('star', 'moon', 'sun')
const version = fc.constantFrom('1', '2', '3')
const packageName = fc.constantFrom('org.example.a', 'ORG.example.A', 'org.example.b')

const handWritten: fc.Arbitrary<Line> = fc.record(
  {
    developer_name,
    name: fc.constantFrom('Star', 'Moon'),
    slug,
    package_name: packageName,
    version,
  },
  { requiredKeys: ['developer_name', 'name'] },
)

/** These find their apps by id, slug and creation time, so package names can go from one to another. */
const exported: fc.Arbitrary<Line> = fc.record({
  developer_name,
  name: fc.constant('Sky'),
  slug,
  package_name: fc.oneof(packageName, fc.constant(null)),
  version,
  created_at: fc.constant('2026-01-01T00:00:00.000Z'),
})

/** With room between them for the ids that other apps get, which follow the greatest one. */
const idsBySlug = { star: 0, moon: 100, sun: 200 }

test('the lines of a batch have the same effect as a batch for each of them', async () => {
  const [together, apart] = [await openEmptyCatalogue(), await openEmptyCatalogue()]
  const category = { slug: 'tools', name: 'Tools' }
  for (const database of [together, apart]) await importLines(database, [{ category }])
  let run = 0
  const anyLines = fc.array(fc.oneof(handWritten, exported), { minLength: 2, maxLength: 9 })
  const property = fc.asyncProperty(anyLines, async (lines) => {
    // Each run has its own names and ids, so that it begins without apps.
    const mark = `x${++run}x`
    const firstId = 1_000_000 - 1000 * run
    const own = (text: string) => text.replace(/star|moon|sun|sky/i, (word) => word + mark)
    const file = lines.map(({ name, slug, package_name, ...line }) => ({
      ...line,
      name: own(name),
      description: 'The sky above you.',
      category,
      ...(slug && { slug: own(slug) }),
      ...(slug && line.created_at && { id: firstId + idsBySlug[slug] }),
      ...(package_name !== undefined && { package_name: package_name && package_name + mark }),
    }))
    const apps = (database: Database) =>
      database.read(({ sql }) =>
        sql('apps')
          .where('slug', 'like', `%${mark}%`)
          .orderBy('slug')
          .select('developer_id', 'name', 'slug', 'package_name', 'version'),
      )

    const { created, updated, rejects } = await importLines(together, file)
    // The line of a category ends a batch.
    const divided = await importLines(
      apart,
      file.flatMap((line) => [{ category }, line]),
    )
    const expected = divided.rejects.map((reject) => ({ ...reject, line: reject.line / 2 }))
    expect({ created, updated, rejects }).toEqual({
      created: divided.created,
      updated: divided.updated,
      rejects: expected,
    })
    expect(await apps(together)).toEqual(await apps(apart))
  })
  await fc.assert(property, { numRuns: 40, seed })
  await expectConsistent(together)
})
