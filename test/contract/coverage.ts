import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { ResponseChecker } from './checker.ts'

/** Collects, over all test files, which (operation, status) the run has seen; at its end, one that nobody answered fails it. */

declare module 'vitest' {
  interface ProvidedContext {
    coverageFile: string
  }
}

export default function setup(project: TestProject) {
  const folder = mkdtempSync(join(tmpdir(), 'contract-coverage-'))
  const file = join(folder, 'seen')
  writeFileSync(file, '')
  project.provide('coverageFile', file)

  return () => {
    const seen = new Set(readFileSync(file, 'utf8').split('\n'))
    rmSync(folder, { recursive: true })
    // Only a whole run can be held to the whole document; one with a file or pattern behind `vitest run` is a part.
    if (process.argv.slice(2).join(' ') !== 'run') return
    const missing = neverAnswered(new ResponseChecker(), seen)
    if (missing.length > 0) throw new Error(`declared, and never answered in this run: ${missing.join(', ')}`)
  }
}

export const recordSeen = (file: string, covers: string[]) =>
  appendFileSync(file, covers.map((line) => `${line}\n`).join(''))

export const neverAnswered = (checker: ResponseChecker, seen: Set<string>) =>
  checker.declared().filter((pair) => !seen.has(pair))
