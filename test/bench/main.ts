import { cpus, totalmem } from 'node:os'
import { argv, stdout, versions } from 'node:process'
import { measureAnswers } from './answers.ts'
import { catalogueFile, withDatabase, withFolder } from './databases.ts'
import { writeDocuments } from './documents.ts'
import { measureGrowth } from './growth.ts'
import { measureImports } from './imports.ts'
import { loader } from './load.ts'
import { explainAll } from './plans.ts'
import { type Section, sectionText } from './report.ts'
import { type Scale, scales } from './scale.ts'
import { measureSearches } from './searches.ts'
import { measureStarts } from './starts.ts'

/**
 * The benchmark: `node test/bench/main.ts full|quick|trial [PART...]`, all parts where none is named. docs/performance.md says
 * how it measures.
 */

const parts = {
  answers: ({ compared }: Files, folder: string, scale: Scale) => measureAnswers(compared, folder, scale),
  growth: ({ bySize }: Files, folder: string, scale: Scale) => measureGrowth(bySize, folder, scale),
  search: ({ bySize }: Files, folder: string, scale: Scale) => measureSearches(bySize, folder, scale),
  import: (_: Files, folder: string, scale: Scale) => measureImports(folder, scale),
  start: ({ compared }: Files, _: string, scale: Scale) => measureStarts(compared, scale),
  plans: ({ largest }: Files, _: string, { sizes }: Scale) => explainAll(largest, sizes.at(-1) ?? 0),
}

type Files = { bySize: Map<number, string>; compared: string; largest: string }

const [name = 'full', ...named] = argv.slice(2)
const scale = Object.entries(scales).find(([key]) => key === name)?.[1]
const wanted = Object.entries(parts).filter(([part]) => named.length === 0 || named.includes(part))
if (!scale || wanted.length < named.length) {
  throw new Error(`node test/bench/main.ts ${Object.keys(scales).join('|')} [${Object.keys(parts).join(' ')}]`)
}

await withFolder(async (folder) => {
  const files = await catalogues(folder, scale)
  const description = await machine(files.compared)
  print(description)
  const sections: Section[] = []
  for (const [, measure] of wanted) {
    const section = await measure(files, folder, scale)
    print(sectionText(section))
    if (section.page) print(section.page.text)
    sections.push(section)
  }
  if (scale === scales.full && named.length === 0) writeDocuments(description, sections)
  else print('A look: docs/performance.md is as it was.')
})

async function catalogues(folder: string, { sizes, compared }: Scale): Promise<Files> {
  const bySize = new Map<number, string>()
  for (const size of sizes) {
    const started = performance.now()
    bySize.set(size, await catalogueFile(folder, size))
    print(`${size} apps: ${((performance.now() - started) / 1000).toFixed(0)} s`)
  }
  return { bySize, compared: bySize.get(compared) ?? '', largest: bySize.get(sizes.at(-1) ?? 0) ?? '' }
}

async function machine(databaseFile: string): Promise<string> {
  const [row] = await withDatabase(databaseFile, ({ read }) =>
    read(({ select }) => select<{ version: string }>('select sqlite_version() as version', [])),
  )
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  return `${cpus().length} cores, ${memory}; Node ${versions.node}; SQLite ${row?.version}, in node:sqlite ${versions.sqlite}; load by ${loader}.`
}

function print(text: string) {
  stdout.write(`${text}\n\n`)
}
