import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { isShortRun } from '../../support/short-run.ts'

test('the benchmark runs, and its peers respond as the service does', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    `${import.meta.dirname}/main.ts`,
    isShortRun ? 'trial' : 'quick',
  ])
  console.log(stdout)
  const titles = [...stdout.matchAll(/^### ([^,\n]+)/gm)].map(([, title]) => title)
  expect(titles).toEqual([
    'Throughput in requests per second',
    'Latency by catalogue size',
    'Searches',
    'Import',
    'Start',
    'Query plans',
  ])
  expect(stdout).not.toMatch(/NaN|undefined|Infinity/)
})
