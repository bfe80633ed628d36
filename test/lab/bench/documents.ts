import { readFileSync, writeFileSync } from 'node:fs'
import { type Section, sectionText } from './report.ts'

/** Writes the figures between the two markers of docs/performance.md. */

const file = `${import.meta.dirname}/../../../docs/performance.md`
const markers = ['<!-- begin measured -->', '<!-- end measured -->'] as const

export function writeDocuments(machine: string, sections: readonly Section[]) {
  const shown = sections.filter(({ details }) => details === undefined)
  const measured = [machine, ...shown.map(sectionText)].join('\n\n')
  writeFileSync(file, replaceMeasured(readFileSync(file, 'utf8'), measured))
}

function replaceMeasured(text: string, measured: string): string {
  const [before, rest] = text.split(markers[0])
  const after = rest?.split(markers[1])[1]
  if (before === undefined || after === undefined)
    throw new Error(`docs/performance.md lacks ${markers.join(' or ')}`)
  return `${before}${markers[0]}\n\n${measured}\n\n${markers[1]}${after}`
}
