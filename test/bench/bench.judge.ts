import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('the benchmark runs, and its peers respond as the service does', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    `${import.meta.dirname}/main.ts`,
    'trial',
  ])
  const titles = [...stdout.matchAll(/^### (.+)$/gm)].map(([, title]) => title)
  expect(titles).toEqual([
    'Throughput in requests per second, 2,000 apps',
    'Latency by catalogue size',
    'Searches',
    'Import',
    'Start',
    'Query plans, 2,000 apps',
  ])
  expect(stdout).not.toMatch(/NaN|undefined|Infinity/)
})
