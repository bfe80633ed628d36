import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Actor } from '../../src/audit/audit-store.ts'
import type { DatabaseWithTools } from '../../src/db/tools.ts'
import { type ExportOptions, exportCatalogue } from '../../src/import-export/export-catalogue.ts'
import {
  type ImportEvents,
  type ImportSummary,
  importLines as importSource,
  type LineWork,
} from '../../src/import-export/import-lines.ts'
import { isRefusing } from '../../src/import-export/line.ts'
import { mirrorLines as withHiding } from '../../src/import-export/mirror.ts'
import { counterLines } from '../../src/import-export/set-counters.ts'
import { catalogueLines } from '../../src/import-export/write-lines.ts'
import { temporaryFolder } from './database.ts'

type LineFields = { line: number; fields: string[] }

/** With the fields that refused a line, and those that were left out of another. */
export type Imported = ImportSummary & { rejects: LineFields[]; left: LineFields[] }

/** The counts of an import. Those that are left out are 0. */
export const counts = (
  given: Partial<Pick<ImportSummary, 'created' | 'updated' | 'unchanged' | 'rejected'>>,
) => ({ created: 0, updated: 0, unchanged: 0, rejected: 0, ...given })

/** Lines of a catalogue file; a string is a line as it is. */
export const toLines = (lines: (object | string)[]): string =>
  lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')

/** A valid line of a catalogue file. */
export const exampleLine = {
  name: 'Star Map',
  description: 'The sky above you.',
  category: 'tools',
  developer_name: 'Ada',
}
export const exampleReview = {
  reviewer_name: 'Cy',
  rating: 4,
  comment: 'Fine.',
  created_at: '2026-01-01T00:00:00.000Z',
}

/** A file of `count` approved apps, each with a review. */
export function manyApps(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => ({
    ...exampleLine,
    name: `Star ${index}`,
    package_name: `org.example.star${index}`,
    status: 'approved',
    reviews: [exampleReview],
  }))
  const file = join(temporaryFolder(), 'many.ndjson')
  writeFileSync(file, toLines(lines))
  return file
}

const actor = { operator: 'test' }

/** Imports a source as an operator. */
export const importFrom = (
  database: DatabaseWithTools,
  source: AsyncIterable<Buffer>,
  events: ImportEvents = {},
  onlyNew = false,
) => importSource(database, source, catalogueLines({ actor, onlyNew }), events)

/** Sets counters like a file with these lines. */
export const setCounters = (
  database: DatabaseWithTools,
  lines: (object | string)[],
  events: ImportEvents = {},
  by: Actor = actor,
) => importSource(database, Readable.from([Buffer.from(toLines(lines))]), counterLines(by), events)

/** Imports lines like a file with them. */
export const importLines = (
  database: DatabaseWithTools,
  lines: (object | string)[],
  onlyNew = false,
): Promise<Imported> => importAll(database, lines, catalogueLines({ actor, onlyNew }))

/** Imports lines, or a source, like a whole export with --mirror, which hides up to `limit` apps. */
export const mirrorLines = (
  database: DatabaseWithTools,
  lines: (object | string)[] | AsyncIterable<Buffer>,
  limit?: number,
): Promise<Imported> =>
  importAll(
    database,
    lines,
    withHiding(catalogueLines({ actor, onlyNew: false, isMirror: true }), actor, limit),
  )

async function importAll(
  database: DatabaseWithTools,
  lines: (object | string)[] | AsyncIterable<Buffer>,
  work: LineWork,
): Promise<Imported> {
  const rejects: Imported['rejects'] = []
  const left: Imported['left'] = []
  async function* source() {
    if (Array.isArray(lines)) for (const line of lines) yield Buffer.from(toLines([line]))
    else yield* lines
  }
  const onProblems: ImportEvents['onProblems'] = async (line, problems) => {
    const refusing = problems.filter(isRefusing).map(({ field }) => field)
    const leftOut = problems.filter((one) => !isRefusing(one)).map(({ field }) => field)
    if (refusing.length > 0) rejects.push({ line, fields: refusing })
    else left.push({ line, fields: leftOut })
  }
  const summary = await importSource(database, source(), work, { onProblems })
  return { ...summary, rejects, left }
}

/** The lines of an export. */
export async function exportLines(
  database: DatabaseWithTools,
  options?: ExportOptions,
): Promise<string[]> {
  const output = new PassThrough()
  const written = text(output)
  await exportCatalogue(database, output, options)
  output.end()
  return (await written).split('\n').filter((line) => line !== '')
}
