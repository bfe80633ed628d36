import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/** Which directories of src/ may import which others, and which packages. README.md has the map. */

const src = join(import.meta.dirname, '../src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)
const codeOf = (file: string) =>
  readFileSync(join(src, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|(?<![:'"])\/\/.*$/gm, '')
const importsOf = (file: string) =>
  [...codeOf(file).matchAll(/(?:from|import\(|^import) ?'([^']+)'/gm)].map(([, name = '']) => name)
const directoryOf = (file: string) => (file.includes('/') ? (file.split('/', 1)[0] ?? '') : 'src')
const outsideDb = files.filter((file) => directoryOf(file) !== 'db')

/** A directory can import those on the same line or below. */
const layers = [
  ['cli'],
  ['http'],
  ['import-export', 'moderation', 'accounts', 'catalogue', 'audit'],
  ['db'],
  ['search'],
  ['contract'],
  ['util'],
]
const layerOf = (name: string) => layers.findIndex((directories) => directories.includes(name))

test.for(files.filter((file) => directoryOf(file) !== 'src'))('%s imports downwards', (file) => {
  const imported = importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(file), name)))
    .filter((name) => !name.startsWith('..'))
  const upwards = imported.filter(
    (name) =>
      name === 'main.ts' ||
      (directoryOf(name) !== 'src' && layerOf(directoryOf(name)) < layerOf(directoryOf(file))),
  )
  expect(
    layerOf(directoryOf(file)),
    `${directoryOf(file)}/ is missing from the layers in this test`,
  ).toBeGreaterThanOrEqual(0)
  expect(upwards).toEqual([])
})

test('only db/ names knex, a driver or an engine', () => {
  const naming = outsideDb.filter((file) =>
    importsOf(file).some((name) => /^(knex|sqlite3|pg)\b|db\/(sqlite|postgres)\b/.test(name)),
  )
  expect(naming).toEqual([])
})

test('no SQL outside db/ is specific to an engine', () => {
  const own =
    /\b(pragma|fts5|app_search|rowid|json_each|json_group_array|json_object|json_agg|strftime|ifnull|sqlite_\w+|autoincrement|tsvector|to_tsquery|pg_\w+|ilike)\b|insert or (replace|ignore)|::\w/i
  const naming = outsideDb.filter((file) => own.test(codeOf(file)))
  expect(naming).toEqual([])
})

test('only http/ imports Express', () => {
  const naming = files.filter(
    (file) => directoryOf(file) !== 'http' && importsOf(file).some((name) => name === 'express'),
  )
  expect(naming).toEqual([])
})
