import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Section, sectionText } from './report.ts'

/**
 * Writes the results into docs/: figures between the two markers of performance.md, each page
 * as a separate file.
 */

const docs = `${import.meta.dirname}/../../../docs`
const markers = ['<!-- begin measured -->', '<!-- end measured -->'] as const

export function writeDocuments(machine: string, sections: readonly Section[]) {
  const folder = join(docs, 'performance')
  mkdirSync(folder, { recursive: true })
  for (const { page } of sections) {
    if (page) writeFileSync(join(folder, `${page.name}.md`), `# ${page.title}\n\n${page.text}\n`)
  }
  const file = join(docs, 'performance.md')
  const measured = [machine, ...sections.map(withLinks)].join('\n\n')
  writeFileSync(file, replaceMeasured(readFileSync(file, 'utf8'), measured))
}

function withLinks(section: Section): string {
  const page = section.page
    ? [`The plan of each statement: [${section.page.name}](performance/${section.page.name}.md).`]
    : []
  return [sectionText(section), ...page].join('\n\n')
}

function replaceMeasured(text: string, measured: string): string {
  const [before, rest] = text.split(markers[0])
  const after = rest?.split(markers[1])[1]
  if (before === undefined || after === undefined)
    throw new Error(`docs/performance.md lacks ${markers.join(' or ')}`)
  return `${before}${markers[0]}\n\n${measured}\n\n${markers[1]}${after}`
}
