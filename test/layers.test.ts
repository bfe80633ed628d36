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
/** The directory of a file, or its own name at the top level. */
const placeOf = (file: string) => file.split('/', 1).join()
const outsideDb = files.filter((file) => placeOf(file) !== 'db')
const localImportsOf = (file: string) =>
  importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(file), name)))
    .filter((name) => !name.startsWith('..'))

/** A place can import itself and those below. */
const layers = [
  'apps-service.js',
  'main.ts',
  'cli',
  'servers.ts',
  'http',
  'import-export',
  'moderation',
  'accounts',
  'catalogue',
  'audit',
  'config.ts',
  'db',
  'search',
  'util',
  'contract',
]

test.for(files)('%s imports downwards', (file) => {
  const place = layers.indexOf(placeOf(file))
  expect(place, `${placeOf(file)} is missing from the layers in this test`).not.toBe(-1)
  expect(localImportsOf(file).filter((name) => layers.indexOf(placeOf(name)) < place)).toEqual([])
})

test('no files import each other in a circle, types included', () => {
  const circles: string[][] = []
  const done = new Set<string>()
  const follow = (file: string, path: string[]) => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file])
    if (path.includes(file) || done.has(file)) return
    for (const imported of localImportsOf(file)) follow(imported, [...path, file])
    done.add(file)
  }
  for (const file of files) follow(file, [])
  expect(circles).toEqual([])
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

/** The stores of what the public sees: each marks its transaction, so that no cached response is stale. */
const storesOf = {
  apps: ['catalogue/app-store.ts', 'catalogue/reviews.ts'],
  reviews: ['catalogue/reviews.ts'],
  categories: ['catalogue/app-side-effects.ts', 'catalogue/category-store.ts'],
  developers: ['accounts/account-store.ts'],
}

/** Writes of a table in SQL, by a runner's methods, or by a knex query such as `sql('apps')…`. */
function writesOf(table: string): RegExp {
  const call = String.raw`\.\w+\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)`
  return new RegExp(
    [
      `(update|insert into|delete from)\\s+${table}\\b`,
      `(insertRows|insertUnlessTaken)\\(\\s*'${table}'`,
      `\\('${table}'\\)(\\s*${call})*?\\s*\\.(insert|update|delete|del|increment|decrement|truncate)\\(`,
    ].join('|'),
    'i',
  )
}

test.for(Object.entries(storesOf))('only their stores write %s', ([table, stores]) => {
  const writing = outsideDb.filter((file) => writesOf(table).test(codeOf(file)))
  expect(writing).toEqual(stores)
})

test.for([
  'update apps set name = ?',
  "runner.insertRows('apps', rows)",
  "insertRows(\n  'apps',\n  rows)",
  "await sql('apps').where({ id }).update(columns)",
  "sql('apps')\n  .where((app) => app.whereIn('id', ids(sql('reviews').select('app_id'))))\n  .delete()",
])('a write of apps is recognized: %s', (code) => expect(writesOf('apps').test(code)).toBe(true))

test.for([
  "sql('apps').where({ id }).forUpdate().first()",
  "sql('apps').select('id')\nawait sql('reviews').delete()",
])('a read of apps is not taken for a write: %s', (code) =>
  expect(writesOf('apps').test(code)).toBe(false),
)

test.for(['express', 'openapi-backend'])('only http/ imports %s', (library) => {
  const naming = files.filter(
    (file) => placeOf(file) !== 'http' && importsOf(file).some((name) => name === library),
  )
  expect(naming).toEqual([])
})
