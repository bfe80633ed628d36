import { toSearchDocument } from '../search/terms.ts'
import type { LineWork } from './import-lines.ts'
import { isSet, type ParsedLine, readLine, type WriteOptions } from './line.ts'
import { removeApps } from './remove-apps.ts'
import { writeApps } from './write-apps.ts'
import { writeCategories } from './write-categories.ts'

/**
 * Parses and writes the lines of a catalogue file: categories, removals and apps. `onlyNew` leaves
 * existing apps and categories unchanged.
 */
export function catalogueLines(given: Omit<WriteOptions, 'now' | 'firstLines'>): LineWork {
  const now = new Date().toISOString()
  return {
    parse,
    async write(runner, lines, firstLines) {
      const options = { ...given, now, firstLines }
      await writeCategories(runner, lines, options)
      await removeApps(runner, lines, options)
      await writeApps(runner, lines, options)
    },
  }
}

function parse(text: string, number: number): ParsedLine {
  const line = readLine(text, number)
  const { app } = line
  const willBeListed = app?.status === 'approved' && !isSet(app.deleted_at)
  return willBeListed ? { ...line, document: toSearchDocument(app, app.developer_name) } : line
}
