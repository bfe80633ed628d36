import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Database } from '../../src/db/open.ts'
import { exportCatalogue } from '../../src/import/export.ts'
import { importCatalogue, type Summary } from '../../src/import/import.ts'

export type Imported = Summary & { rejects: { line: number; fields: string[] }[] }

/** Imports lines as a file that holds them would be; text is taken as it is. */
export async function importLines(database: Database, lines: (object | string)[], onlyNew = false): Promise<Imported> {
  const rejects: Imported['rejects'] = []
  async function* source() {
    for (const line of lines) yield Buffer.from(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
  }
  const summary = await importCatalogue(database, source(), {
    actor: { operator: 'test' },
    onlyNew,
    onReject: async (line, problems) => {
      rejects.push({ line, fields: problems.map(({ field }) => field) })
    },
    onProgress: () => {},
  })
  return { ...summary, rejects }
}

/** The lines of an export. */
export async function exportLines(database: Database, since?: string): Promise<string[]> {
  const output = new PassThrough()
  const written = text(output)
  await exportCatalogue(database, output, since)
  output.end()
  return (await written).split('\n').filter((line) => line !== '')
}
