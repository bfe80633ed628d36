import { deepStrictEqual } from 'node:assert'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, renameSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { listedCondition } from '../../../src/db/listed-apps.ts'
import { openDatabase } from '../../../src/db/open-database.ts'
import { toSearchDocument } from '../../../src/search/terms.ts'
import { residentBytes } from '../../support/memory.ts'
import { catalogueLines } from './catalogue-lines.ts'
import { emptyDatabase, withDatabase } from './databases.ts'
import { figure, type Section, type Target } from './report.ts'
import type { Scale } from './scale.ts'
import { ratios } from './statistics.ts'

/** The speed of `import`, compared with copying the same rows from another database. */

const executable = `${import.meta.dirname}/../../../apps-service`

type Measured = { apps: number; perSecond: number[]; bare: number[]; mebibytes: number[] }

export async function measureImports(folder: string, { imports }: Scale): Promise<Section> {
  const measured: Measured[] = []
  for (const { apps, rounds } of imports) measured.push(await measure(apps, rounds, folder))
  const named = (apps: number) => `${apps.toLocaleString('en')} apps`
  return {
    title: 'Import',
    tables: [
      {
        head: [
          'apps per second',
          'bare INSERT … SELECT',
          'apps-service import',
          'peak memory of the import',
        ],
        rows: measured.map(({ apps, perSecond, bare, mebibytes }) => [
          named(apps),
          figure(bare, 'perSecond'),
          figure(perSecond, 'perSecond'),
          figure(mebibytes, 'mebibytes'),
        ]),
      },
    ],
    musts: measured.flatMap(({ apps, perSecond, bare, mebibytes }): Target[] => [
      {
        what: `import / bare inserts, ${named(apps)}`,
        values: ratios(perSecond, bare),
        bound: { atLeast: 0.4 },
        unit: 'ratio',
      },
      {
        what: `peak memory of the import, ${named(apps)}`,
        values: mebibytes,
        bound: { atMost: 256 },
        unit: 'mebibytes',
      },
    ]),
  }
}

async function measure(apps: number, rounds: number, folder: string): Promise<Measured> {
  const file = join(folder, 'catalogue.ndjson')
  await pipeline(catalogueLines(apps), createWriteStream(file))
  const [target, ready, tokens] = [
    join(folder, 'import.sqlite'),
    join(folder, 'ready.sqlite'),
    join(folder, 'tokens.sqlite'),
  ]
  const measured: Measured = { apps, perSecond: [], bare: [], mebibytes: [] }
  for (let round = 0; round < rounds; round++) {
    await emptyDatabase(target)
    const { seconds, memory } = await importInto(target, file)
    measured.perSecond.push(apps / seconds)
    if (memory !== undefined) measured.mebibytes.push(memory / 2 ** 20)
    if (round === 0) {
      renameSync(target, ready)
      await writeTokens(ready, tokens)
    }

    await emptyDatabase(target)
    measured.bare.push(apps / (await copyRows(target, ready, tokens)))
    deepStrictEqual(
      await countRows(target),
      await countRows(ready),
      'the bare inserts wrote different rows',
    )
  }
  return measured
}

/** Apps indexed at a time. */
const batchSize = 2000

/**
 * Creates a database with the search tokens of each app. The full-text index does not store them,
 * so this indexes all apps again into a temporary table that shadows the index
 * (https://sqlite.org/lang_naming.html).
 */
async function writeTokens(imported: string, filename: string) {
  await emptyDatabase(filename)
  await withDatabase(filename, ({ write }) =>
    write(async ({ sql, search }) => {
      await sql.raw(
        'create table tokens_of_apps (rank integer primary key, app_id integer, name_words text, tokens text)',
      )
      await sql.raw('create temporary table app_search (tokens text)')
      for await (const apps of listedApps(imported)) {
        await search.index(apps)
        await sql.raw(
          `insert into tokens_of_apps select rank, app_id, name_words, tokens
           from temp.app_search as tokens join app_search_apps on rank = tokens.rowid`,
        )
        await sql.raw('delete from temp.app_search')
      }
      await sql.raw('drop table temp.app_search')
    }),
  )
}

async function* listedApps(databaseFile: string) {
  const database = openDatabase(`sqlite:${databaseFile}`)
  for (let last = 0; ; ) {
    const apps = await database.read(({ sql }) =>
      sql('apps')
        .join('developers', 'developers.id', 'apps.developer_id')
        .whereRaw(listedCondition)
        .where('apps.id', '>', last)
        .orderBy('apps.id')
        .limit(batchSize)
        .select('apps.*', 'developers.name as developer_name'),
    )
    if (apps.length === 0) break
    yield apps.map((app) => ({
      id: app.id,
      slug: app.slug,
      categoryId: app.category_id,
      ...toSearchDocument(app, app.developer_name),
    }))
    last = apps.at(-1)?.id ?? last
  }
  await database.close()
}

async function importInto(
  databaseFile: string,
  file: string,
): Promise<{ seconds: number; memory: number | undefined }> {
  const started = performance.now()
  const child = spawn(executable, ['import', file, '--json'], {
    env: { PATH: process.env.PATH, DATABASE_URL: `sqlite:${databaseFile}` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const errorOutput = text(child.stderr)
  let memory: number | undefined
  const sampling = setInterval(() => {
    memory = residentBytes(child.pid, 'VmHWM') ?? memory
  }, 100)
  const [code] = await once(child, 'exit')
  clearInterval(sampling)
  if (code !== 0) throw new Error(`the import exited with ${code}: ${await errorOutput}`)
  return { seconds: (performance.now() - started) / 1000, memory }
}

/** Returns the seconds that peers/inserts.ts took. */
async function copyRows(
  ...files: [target: string, ready: string, tokens: string]
): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    `${import.meta.dirname}/peers/inserts.ts`,
    ...files,
  ])
  return Number(stdout)
}

const countRows = (databaseFile: string) =>
  withDatabase(databaseFile, ({ read }) =>
    read(async ({ rows }) => {
      const tables = ['developers', 'categories', 'apps', 'reviews', 'audit', 'app_search']
      const counts = tables.map((table) => `(select count(*) from ${table}) as ${table}`)
      const [row] = await rows<Record<string, number>>(`select ${counts}`, [])
      return row
    }),
  )
