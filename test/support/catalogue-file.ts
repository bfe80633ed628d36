import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Database } from '../../src/db/database.ts'
import { type ExportOptions, exportCatalogue } from '../../src/transfer/export.ts'
import { type ImportOptions, type ImportSummary, importCatalogue } from '../../src/transfer/import.ts'

export type Imported = ImportSummary & { rejects: { line: number; fields: string[] }[] }

/** Lines of a catalogue file; a string is a line as it is. */
export const textOf = (lines: (object | string)[]): string =>
  lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')

/** Imports a source as an operator. */
export const importFrom = (database: Database, source: AsyncIterable<Buffer>, options: Partial<ImportOptions> = {}) =>
  importCatalogue(database, source, {
    actor: { operator: 'test' },
    onlyNew: false,
    onReject: async () => {},
    onProgress: () => {},
    ...options,
  })

/** Imports lines like a file with them. */
export async function importLines(database: Database, lines: (object | string)[], onlyNew = false): Promise<Imported> {
  const rejects: Imported['rejects'] = []
  async function* source() {
    for (const line of lines) yield Buffer.from(textOf([line]))
  }
  const summary = await importFrom(database, source(), {
    onlyNew,
    onReject: async (line, problems) => {
      rejects.push({ line, fields: problems.map(({ field }) => field) })
    },
  })
  return { ...summary, rejects }
}

/** The lines of an export. */
export async function exportLines(database: Database, options?: ExportOptions): Promise<string[]> {
  const output = new PassThrough()
  const written = text(output)
  await exportCatalogue(database, output, options)
  output.end()
  return (await written).split('\n').filter((line) => line !== '')
}
