import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { commandLine, serve } from '../support/process.ts'

/** deploy/alerts.yml in Debian's Prometheus, which scrapes a running server. */

const rules = `${import.meta.dirname}/../../deploy/alerts.yml`

test('promtool accepts the rules', () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', rules], {
    encoding: 'utf8',
  })
  expect([status, stdout], stderr).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
})

test('the alert about overload fires only after work has waited for five minutes', () => {
  const folder = temporaryFolder()
  copyFileSync(rules, join(folder, 'alerts.yml'))
  const labels = { instance: 'one', db_client_connection_pool_name: 'reader' }
  const alert = {
    exp_labels: labels,
    exp_annotations: {
      summary: 'Work on one has been waiting for a reader connection for 5 minutes.',
    },
  }
  const series =
    'db_client_connection_pending_requests{instance="one",db_client_connection_pool_name="reader"}'
  const alertname = 'AppsDatabaseOverloaded'
  const cases = {
    rule_files: ['alerts.yml'],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: [{ series, values: '1x10' }],
        alert_rule_test: [
          { eval_time: '4m', alertname, exp_alerts: [] },
          { eval_time: '5m', alertname, exp_alerts: [alert] },
        ],
      },
    ],
  }
  // YAML includes JSON.
  writeFileSync(join(folder, 'cases.yml'), JSON.stringify(cases))
  const { status, stdout, stderr } = spawnSync(
    'promtool',
    ['test', 'rules', join(folder, 'cases.yml')],
    {
      encoding: 'utf8',
    },
  )
  expect(status, stdout + stderr).toBe(0)
})

test('an alert fires while an app waits for days, and clears when it is decided', async () => {
  const address = await copyWorld()
  const metricsPort = await freePort()
  await serve(address, { METRICS_PORT: String(metricsPort) })
  const alerts = await startPrometheus(metricsPort)
  await expect.poll(alerts).toEqual(['AppsWaitTooLong firing'])
  const { pending, bobsPending } = inject('world').apps
  const { code, stderr } = await commandLine(address).run(
    'moderation',
    'approve',
    String(pending),
    String(bobsPending),
  )
  expect(code, stderr).toBe(0)
  await expect.poll(alerts).toEqual([])
})

/** What Prometheus answers: the series of a query, or its alerts. */
type Data = { result?: unknown[]; alerts?: { labels: { alertname: string }; state: string }[] }

/**
 * Starts Prometheus, and returns a function that reads its alerts with their states once it has
 * scraped.
 */
async function startPrometheus(metricsPort: number) {
  const folder = temporaryFolder()
  const config = join(folder, 'prometheus.yml')
  copyFileSync(rules, join(folder, 'alerts.yml'))
  writeFileSync(
    config,
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [alerts.yml]
scrape_configs:
  - job_name: apps-service
    static_configs: [{ targets: ['127.0.0.1:${metricsPort}'] }]
`,
  )
  const address = `127.0.0.1:${await freePort()}`
  const server = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${address}`,
    ],
    { stdio: 'ignore' },
  )
  onTestFinished(async () => {
    server.kill('SIGKILL')
    if (server.exitCode === null) await once(server, 'exit')
  })
  const query = async (path: string) => {
    const response = await fetch(`http://${address}/api/v1/${path}`).catch(() => undefined)
    return response?.ok ? ((await response.json()) as { data: Data }).data : undefined
  }
  await expect
    .poll(async () => (await query('query?query=apps_build_info'))?.result?.length)
    .toBe(1)
  return async () =>
    (await query('alerts'))?.alerts
      ?.map(({ labels, state }) => `${labels.alertname} ${state}`)
      .toSorted()
}
