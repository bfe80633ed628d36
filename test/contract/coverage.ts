import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

/** Collects, over all test files, which (operation, status) the run has seen; coverage.last.ts looks at them. */

declare module 'vitest' {
  interface ProvidedContext {
    coverage: { file: string; isWhole: boolean }
  }
}

export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), 'contract-coverage-'))
  const file = join(folder, 'seen')
  writeFileSync(file, '')
  // Only a whole run can be held to the whole document, on whatever engine; one with a file or pattern behind it is a part.
  const told = process.argv
    .slice(2)
    .join(' ')
    .replaceAll(/ --project \w+/g, '')
  project.provide('coverage', { file, isWhole: told === 'run' })
  return () => rmSync(folder, { recursive: true })
}

export const recordSeen = (file: string, pairs: string[]) =>
  appendFileSync(file, pairs.map((pair) => `${pair}\n`).join(''))

export const readSeen = (file: string) => new Set(readFileSync(file, 'utf8').split('\n'))

/** What to do where no test had this answer. */
export function describeMissing(pair: string, seen: ReadonlySet<string>): string | undefined {
  if (seen.has(pair)) return undefined
  const [operation] = pair.split(' ')
  return [
    `The document declares ${pair}, and no test had it for an answer.`,
    `Add a scenario of it to the table ${operation} in test/contract/scenarios.ts; what no scenario can bring about,`,
    'as 408, 431, 500 and 503, is asked of every operation in test/http/server.test.ts.',
  ].join('\n')
}
