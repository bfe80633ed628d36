import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/** Which directories of src/ may import which others, and which packages. ARCHITECTURE.md has the map. */

const src = join(import.meta.dirname, '../src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)
const codeOf = (file: string) =>
  readFileSync(join(src, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|(?<![:'"])\/\/.*$/gm, '')
/** Files that import by a computed name, and the directory whose files these are. */
const directoriesImportedBy: Record<string, string> = {
  'cli/program.ts': 'cli',
  'db/migrations.ts': 'db/migrations',
}
const importsComputedName = (code: string) => /\bimport\(\s*[^'\s]/.test(code)
const namesImportedBy = (code: string) =>
  [
    ...code.matchAll(
      /(?:\bfrom|^import|\bimport\(|\bcreateRequire\(import\.meta\.url\)\()\s*'([^']+)'/gm,
    ),
  ].map(([, name = '']) => name)
const importsOf = (file: string) => namesImportedBy(codeOf(file))
const outsideDb = files.filter((file) => directoryOf(file) !== 'db')
const resolveLocal = (file: string, names: string[]) =>
  names
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(file), name)))
    .filter((name) => !name.startsWith('..'))
const localImportsOf = (file: string) => [
  ...resolveLocal(file, importsOf(file)),
  ...files.filter((other) => other !== file && dirname(other) === directoriesImportedBy[file]),
]

/** The first directory of a file, or its own name at the top level. */
function directoryOf(file: string): string {
  return file.split('/', 1).join()
}

/** A layer can import itself and those below. */
const layers = [
  'apps-service.js',
  'main.ts',
  'cli',
  'servers.ts',
  'moderation-page',
  'http',
  'moderation-page/parts',
  'http/html.ts',
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

/** The layer with the longest name that a path begins with; -1 if there is none. */
const layerOf = (file: string): number =>
  layers
    .map((layer, index) => ({ layer, index }))
    .filter(({ layer }) => file === layer || file.startsWith(`${layer}/`))
    .toSorted((a, b) => b.layer.length - a.layer.length)[0]?.index ?? -1

const upwardImports = (file: string, imported: string[]): string[] =>
  imported.filter((name) => layerOf(name) < layerOf(file))

test.for(files)('%s imports downwards', (file) => {
  expect(layerOf(file), `${file} is missing from the layers in this test`).not.toBe(-1)
  expect(upwardImports(file, localImportsOf(file))).toEqual([])
})

test.for<[file: string, name: string]>([
  ['moderation-page/parts/layout.ts', '../pages/queue.ts'],
  ['moderation-page/parts/layout.ts', '../../http/body.ts'],
  ['moderation-page/parts/layout.ts', '../../servers.ts'],
  ['http/app.ts', '../moderation-page/app.ts'],
  ['http/html.ts', './home.ts'],
  ['moderation/queue.ts', '../moderation-page/parts/links.ts'],
  ['db/rows.ts', '../catalogue/app-store.ts'],
])('an import upwards is recognized: %s imports %s', ([file, name]) => {
  expect(upwardImports(file, resolveLocal(file, [name]))).toHaveLength(1)
})

test.for<[file: string, name: string]>([
  ['moderation-page/pages/single-app.ts', '../parts/layout.ts'],
  ['moderation-page/app.ts', '../http/body.ts'],
  ['moderation-page/parts/layout.ts', '../../http/html.ts'],
  ['moderation-page/parts/notice.ts', './links.ts'],
  ['http/home.ts', './html.ts'],
])('an import downwards is not taken for one upwards: %s imports %s', ([file, name]) => {
  expect(upwardImports(file, resolveLocal(file, [name]))).toEqual([])
})

test.for([
  "import 'knex'",
  "import {\n  Knex,\n} from 'knex'",
  "export * from 'knex'",
  "await import('knex')",
  "type Knex = import('knex').Knex",
  "createRequire(import.meta.url)(\n  'knex',\n)",
])('the name of an import is read: %j', (code) => {
  expect(namesImportedBy(code)).toEqual(['knex'])
})

test('files that import by a computed name are named in this test', () => {
  const computing = files.filter((file) => importsComputedName(codeOf(file)))
  expect(computing.toSorted()).toEqual(Object.keys(directoriesImportedBy))
})

test.for(['import(file)', 'import(`./types.ts`)', 'import(\n  join(directory, name),\n)'])(
  'an import by a computed name is recognized: %j',
  (code) => expect(importsComputedName(code)).toBe(true),
)

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

/** What serves the API: whole folders, and files of those that have others, too. */
const partsOfApi = [
  'accounts/keys.ts',
  'audit/audit-store.ts',
  ...filesIn('catalogue', 'app-columns app-list app-side-effects app-states app-store'),
  ...filesIn('catalogue', 'category-store idempotency keywords own-apps package-names'),
  ...filesIn('catalogue', 'policy slugs'),
  'config.ts',
  'contract',
  ...filesIn('db', 'database-url database engine error-meaning listed-apps rows schema-age'),
  ...filesIn('db/postgres', 'client engine errors query-runner search'),
  ...filesIn('db/sqlite', 'client database-file engine errors group-commit inspect-file'),
  ...filesIn('db/sqlite', 'query-runner search'),
  'http',
  'search',
  ...filesIn('util', 'bulkhead command helpers text'),
]

function filesIn(directory: string, names: string): string[] {
  return names.split(' ').map((name) => `${directory}/${name}.ts`)
}

const isIn = (part: string) => (file: string) => file === part || file.startsWith(`${part}/`)
const outsideApi = (closure: string[]) =>
  closure.filter((file) => !partsOfApi.some((part) => isIn(part)(file)))

/** The files, and all that they import, types included, except by a computed name. */
function closureOf(entries: string[]): string[] {
  const closure = new Set(entries)
  for (const file of closure)
    for (const imported of resolveLocal(file, importsOf(file)))
      if (files.includes(imported)) closure.add(imported)
  return [...closure]
}

test('the API and the engines import nothing that serves only commands and moderators', () => {
  const closure = closureOf(['http/app.ts', 'db/sqlite/engine.ts', 'db/postgres/engine.ts'])
  expect(outsideApi(closure)).toEqual([])
  expect(partsOfApi.filter((part) => !closure.some(isIn(part)))).toEqual([])
  expect(closure.length).toBeLessThanOrEqual(74)
})

test.for<[entry: string, imported: string]>([
  ['cli/backup.ts', 'db/sqlite/copy-file.ts'],
  ['cli/restore.ts', 'db/sqlite/restore-file.ts'],
  ['cli/copy.ts', 'db/copy-database.ts'],
  ['cli/import.ts', 'import-export/import-lines.ts'],
  ['cli/export.ts', 'import-export/export-catalogue.ts'],
  ['cli/decide.ts', 'moderation/decisions.ts'],
  ['cli/key.ts', 'accounts/account-store.ts'],
])('what serves only commands is recognized: %s imports %s', ([entry, imported]) => {
  expect(outsideApi(closureOf([entry]))).toContain(imported)
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

/** Where the tables of what the public sees are written. */
const writerOf = {
  apps: 'catalogue',
  reviews: 'catalogue',
  categories: 'catalogue',
  developers: 'accounts',
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

test.for(Object.entries(writerOf))('%s are written in %s/ alone', ([table, directory]) => {
  const writing = outsideDb.filter((file) => writesOf(table).test(codeOf(file)))
  expect(new Set(writing.map(directoryOf))).toEqual(new Set([directory]))
  // Otherwise a cached response would be stale.
  const marking = writing.filter((file) => codeOf(file).includes('markPublicChange()'))
  expect(marking).toEqual(writing)
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

test.for([
  { library: 'express', applications: ['http', 'moderation-page'] },
  { library: 'openapi-backend', applications: ['http'] },
])('only $applications import $library', ({ library, applications }) => {
  const naming = files.filter((file) => importsOf(file).includes(library))
  expect(new Set(naming.map(directoryOf))).toEqual(new Set(applications))
})

test.for(['api', 'app', 'cache', 'handlers', 'metrics', 'reference-routes', 'response'])(
  'the moderation page can be read without http/%s.ts, which is only of the API',
  (name) => {
    expect(files).toContain(`http/${name}.ts`)
    expect(closureOf(['moderation-page/app.ts'])).not.toContain(`http/${name}.ts`)
  },
)
