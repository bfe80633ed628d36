import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('the benchmark runs, and its peers answer as the service does', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [`${import.meta.dirname}/main.ts`, 'trial'])
  const titles = [...stdout.matchAll(/^### (.+)$/gm)].map(([, title]) => title)
  expect(titles).toEqual([
    'Answers a second, 2,000 apps',
    'One answer, by the size of the catalogue',
    'Searches',
    'Import',
    'Start',
    'Query plans, 2,000 apps',
  ])
  expect(stdout).not.toMatch(/NaN|undefined|Infinity/)
})
