import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const engines = ['sqlite', 'postgres']

/** The pattern of test files for one engine. */
export const filesOf = (engine: string) => `test/**/*.${engine}.test.ts`

const root = join(import.meta.dirname, '../..')

const testsImportedBy = (file: string, code: string) =>
  [...code.replace(/^import type .*/gm, '').matchAll(/(?:from|import\(?) ?'(\.[^']+\.ts)'/g)]
    .map(([, name = '']) => join(dirname(file), name))
    .filter((name) => name.startsWith(join(root, 'test/')))

/** Whether a file, or a test file that it imports, uses the engine or the world. */
function usesEngine(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false
  seen.add(file)
  const code = readFileSync(file, 'utf8')
  return (
    /\binject\('(engine|world)'\)/.test(code) ||
    testsImportedBy(file, code).some((name) => usesEngine(name, seen))
  )
}

/**
 * Test files of clients, of the log, of what the service and the moderation page do with requests
 * and responses before and after they use the database, and of what commands print and do with
 * processes and files. On each engine, cli/json.test.ts runs each command, cli/lists.test.ts each
 * option of a list, and the files of moderation-page/ about queries and locks all pages and forms.
 */
const onAnyEngine = [
  ...[
    ...[
      'app',
      'audit',
      'category',
      'decide',
      'decision-file',
      'developer',
      'env-file',
      'import',
      'key',
    ],
    ...[
      'full-disk',
      'moderation',
      'moderation-serve',
      'moderator',
      'other-stores',
      'review',
      'serve',
      'show',
      'start-errors',
      'terminal-output',
      'typed-command',
    ],
  ].map((name) => `test/cli/${name}.test.ts`),
  ...['look-alike-names', 'relevance', 'search-notes'].map(
    (name) => `test/catalogue/${name}.test.ts`,
  ),
  ...['corrections', 'partial-matches', 'ranking'].map((name) => `test/search/${name}.test.ts`),
  ...['decisions', 'queue'].map((name) => `test/moderation/${name}.test.ts`),
  ...['accepted-values', 'examples', 'validation'].map((name) => `test/contract/${name}.test.ts`),
  ...[
    'body',
    'cache',
    'common-steps',
    'connections',
    'cors',
    'disconnected-clients',
    'docs',
    'health',
    'invalid-request',
    'keys',
    'log',
    'metrics',
    'operations',
    'public-changes',
    'rate-limits',
    'readable-log',
    'response',
    'server',
  ].map((name) => `test/http/${name}.test.ts`),
  ...[
    'addresses',
    'app-page',
    'apps',
    'attacks',
    'audit',
    'decisions',
    'ended-session',
    'overload',
    'pages',
    'queue-form',
    'sign-in',
    'walk',
  ].map((name) => `test/moderation-page/${name}.test.ts`),
  'test/clients/shop-window.test.ts',
  'test/import-export/one-file-or-many.test.ts',
  'test/cli/export.test.ts',
  'test/cli/rejects-file.test.ts',
  'test/cli/migrate-check.test.ts',
  'test/cli/setup.test.ts',
]

/**
 * Test files whose results do not depend on the engine, so they run once, on SQLite if they need a
 * database.
 */
export const runOnce = globSync('test/**/*.test.ts', {
  cwd: root,
  exclude: engines.map(filesOf),
}).filter((file) => onAnyEngine.includes(file) || !usesEngine(join(root, file)))
