import { cpus, totalmem } from 'node:os'
import { argv, env, stdout, versions } from 'node:process'
import { required } from '../../../src/util/helpers.ts'
import { catalogueFile, temporaryFolder, withDatabase } from './databases.ts'
import { measureGrowth } from './growth.ts'
import { measureImports } from './imports.ts'
import { loader } from './load.ts'
import { explainAll } from './plans.ts'
import { growthChart, sectionText } from './report.ts'
import { type Scale, scales } from './scale.ts'
import { measureSearches } from './searches.ts'
import { measureStarts } from './starts.ts'
import { measureThroughput } from './throughput.ts'

/**
 * The benchmark: `node test/lab/bench/main.ts full|quick|trial [PART...]`; all parts by default.
 * docs/performance.md describes the method.
 */

const parts = {
  throughput: ({ compared }: Catalogues) => measureThroughput(compared, folder, scale),
  growth: ({ bySize }: Catalogues) => measureGrowth(bySize, folder, scale),
  search: ({ bySize }: Catalogues) => measureSearches(bySize, folder, scale),
  import: () => measureImports(folder, scale),
  start: ({ compared }: Catalogues) => measureStarts(compared, scale),
  plans: ({ largest }: Catalogues) => explainAll(largest, Math.max(...scale.sizes)),
}

/** Paths of SQLite files. */
type Catalogues = { bySize: Map<number, string>; compared: string; largest: string }

const [name = '', ...named] = argv.slice(2)
const wanted = Object.entries(parts).filter(([part]) => named.length === 0 || named.includes(part))
if (!isScale(name) || wanted.length < named.length) {
  throw new Error(
    `node test/lab/bench/main.ts ${Object.keys(scales).join('|')} [${Object.keys(parts).join(' ')}]`,
  )
}
const scale: Scale = scales[name]
const folder = temporaryFolder()

const catalogues = await makeCatalogues()
print(await describeMachine(catalogues.compared))
const lines = []
for (const [, measure] of wanted) {
  const section = await measure(catalogues)
  print(sectionText(section))
  if (section.details) print(section.details)
  lines.push(...(section.growth ?? []))
}
if (lines.length > 0) print(growthChart(scale.sizes, lines))

function isScale(text: string): text is keyof typeof scales {
  return Object.hasOwn(scales, text)
}

async function makeCatalogues(): Promise<Catalogues> {
  const bySize = new Map<number, string>()
  for (const size of scale.sizes) {
    const started = performance.now()
    bySize.set(size, await catalogueFile(env.BENCH_FOLDER || folder, size))
    print(
      `Created a catalogue of ${size.toLocaleString('en')} apps in ${((performance.now() - started) / 1000).toFixed(0)} s.`,
    )
  }
  const file = (size: number) => required(bySize.get(size), `catalogue of ${size} apps`)
  return { bySize, compared: file(scale.compared), largest: file(Math.max(...scale.sizes)) }
}

async function describeMachine(databaseFile: string): Promise<string> {
  const [row] = await withDatabase(databaseFile, ({ read }) =>
    read(({ rows }) => rows<{ version: string }>('select sqlite_version() as version', [])),
  )
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  return `${cpus().length} cores, ${memory}; Node ${versions.node}; SQLite ${row?.version}, in node:sqlite ${versions.sqlite}; load generator: ${loader}.`
}

function print(text: string) {
  stdout.write(`${text}\n\n`)
}
