import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

/** Records the (operation, status) pairs that all test files have seen, for coverage.last.ts. */

declare module 'vitest' {
  interface ProvidedContext {
    coverage: { file: string; isWhole: boolean }
  }
}

export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), 'contract-coverage-'))
  const file = join(folder, 'seen')
  writeFileSync(file, '')
  // Only a run of all tests must cover the document, on any engine; a run with a file or pattern is
  // partial.
  const command = process.argv
    .slice(2)
    .join(' ')
    .replaceAll(/ --project \w+/g, '')
  project.provide('coverage', { file, isWhole: command === 'run' })
  return () => rmSync(folder, { recursive: true })
}

export const recordSeen = (file: string, pairs: string[]) =>
  appendFileSync(file, pairs.map((pair) => `${pair}\n`).join(''))

export const readSeen = (file: string) => new Set(readFileSync(file, 'utf8').split('\n'))

/** What to do if no test received this response. */
export function describeMissing(pair: string, seen: ReadonlySet<string>): string | undefined {
  if (seen.has(pair)) return undefined
  const [operation] = pair.split(' ')
  return [
    `The document declares ${pair}, but no test received it.`,
    `Add a scenario to the table ${operation} in test/contract/scenarios/. Statuses that no scenario can cause, such as`,
    '408, 500 and 503, are tested for every operation in test/http/server.test.ts.',
  ].join('\n')
}
