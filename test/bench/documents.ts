import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Section, sectionText } from './report.ts'

/** Puts what was measured into docs/: figures between two marks, each plot and each page as a file of its own. */

const docs = `${import.meta.dirname}/../../docs`
const marks = ['<!-- begin measured -->', '<!-- end measured -->'] as const

export function writeDocuments(machine: string, sections: readonly Section[]) {
  const folder = join(docs, 'performance')
  mkdirSync(folder, { recursive: true })
  for (const { plots, page } of sections) {
    for (const { name, svg } of plots) writeFileSync(join(folder, `${name}.svg`), svg)
    if (page) writeFileSync(join(folder, `${page.name}.md`), `# ${page.title}\n\n${page.text}\n`)
  }
  const file = join(docs, 'performance.md')
  const measured = [machine, ...sections.map(withLinks)].join('\n\n')
  writeFileSync(file, between(readFileSync(file, 'utf8'), measured))
}

function withLinks(section: Section): string {
  const plots = section.plots.map(({ name, title }) => `![${title}](performance/${name}.svg)`)
  const page = section.page
    ? [`The plan of each statement: [${section.page.name}](performance/${section.page.name}.md).`]
    : []
  return [sectionText(section), ...plots, ...page].join('\n\n')
}

function between(text: string, measured: string): string {
  const [before, rest] = text.split(marks[0])
  const after = rest?.split(marks[1])[1]
  if (before === undefined || after === undefined) throw new Error(`docs/performance.md lacks ${marks.join(' or ')}`)
  return `${before}${marks[0]}\n\n${measured}\n\n${marks[1]}${after}`
}
