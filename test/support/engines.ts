import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const engines = ['sqlite', 'postgres']

/** What is one engine's own says so in the file's name. */
export const filesOf = (engine: string) => `test/**/*.${engine}.test.ts`

const root = join(import.meta.dirname, '../..')

const testsImportedBy = (file: string, code: string) =>
  [...code.replace(/^import type .*/gm, '').matchAll(/(?:from|import\(?) ?'(\.[^']+\.ts)'/g)]
    .map(([, name = '']) => join(dirname(file), name))
    .filter((name) => name.startsWith(join(root, 'test/')))

/** Whether code asks for the engine, or for the world that is on it: itself, or what it imports of the tests. */
function asksForEngine(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false
  seen.add(file)
  const code = readFileSync(file, 'utf8')
  return (
    /\binject\('(engine|world)'\)/.test(code) || testsImportedBy(file, code).some((name) => asksForEngine(name, seen))
  )
}

/** The files of tests that do not ask which engine they run on: they do the same on each. */
export const withoutEngine = globSync('test/**/*.test.ts', { cwd: root, exclude: engines.map(filesOf) }).filter(
  (file) => !asksForEngine(join(root, file)),
)
