import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { commandLine, serve } from '../support/process.ts'
import { runUntilFinished } from './tools.ts'

/** deploy/alerts.yml in Debian's Prometheus, which scrapes a running server. */

const rules = `${import.meta.dirname}/../../deploy/alerts.yml`

test('promtool accepts the rules', () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', rules], {
    encoding: 'utf8',
  })
  expect([status, stdout], stderr).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
})

/** Values of a series a minute apart, in promtool's notation. */
type Series = [series: string, values: string]
const errors = 'http_server_request_duration_seconds_count{http_response_status_code="503"}'
const lag = 'nodejs_eventloop_lag_p99_seconds{instance="one"}'
const waiting =
  'db_client_connection_pending_requests{instance="one",db_client_connection_pool_name="reader"}'

test.for<[alert: string, series: Series, quietAt: string, firesAt: string, summary: string]>([
  [
    'AppsWaitTooLong',
    ['apps_oldest_pending_seconds', '259200 259260x5'],
    '0m',
    '1m',
    'An app has waited for a decision for 3d 0h 1m 0s; see the page at MODERATION_URL, or moderation queue.',
  ],
  [
    'AppsServiceNotScraped',
    ['apps_build_info', '1 1 _x20'],
    '9m',
    '15m',
    'Prometheus gets no metrics from any apps-service server.',
  ],
  [
    'AppsServiceErrors',
    [errors, '0+12x30'],
    '5m',
    '15m',
    '0.2 requests per second get a 5xx response; see the log.',
  ],
  ['AppsServiceBlocked', [lag, '0.3x10'], '4m', '5m', 'The event loop of one is late by 300ms.'],
  [
    'AppsDatabaseOverloaded',
    [waiting, '1x10'],
    '4m',
    '5m',
    'Work on one has been waiting for a reader connection for 5 minutes.',
  ],
])('%s fires', ([alertname, [series, values], quietAt, firesAt, summary]) => {
  const [, labelled = ''] = /\{(.*)\}/.exec(series) ?? []
  const kept = alertname === 'AppsServiceErrors' ? '' : labelled
  const exp_labels = Object.fromEntries(
    [...kept.matchAll(/(\w+)="(\w+)"/g)].map(([, name, value]) => [name, value]),
  )
  const alert_rule_test = [
    { eval_time: quietAt, alertname, exp_alerts: [] },
    { eval_time: firesAt, alertname, exp_alerts: [{ exp_labels, exp_annotations: { summary } }] },
  ]
  expect(testRules([{ series, values }], alert_rule_test)).toBe('')
})

test.for<[alert: string, series: Series]>([
  ['AppsWaitTooLong', ['apps_oldest_pending_seconds', '259200x20']],
  ['AppsServiceErrors', [errors, '0+6x30']],
  ['AppsServiceErrors', [errors.replace('503', '404'), '0+1000x30']],
  ['AppsServiceBlocked', [lag, '0.2x20']],
  ['AppsDatabaseOverloaded', [waiting, '0 1 1 1 0 1 1 1 0 1 1 1 0x20']],
])('%s does not fire: %s', ([alertname, [series, values]]) => {
  const alert_rule_test = [5, 10, 15].map((minute) => ({
    eval_time: `${minute}m`,
    alertname,
    exp_alerts: [],
  }))
  expect(testRules([{ series, values }], alert_rule_test)).toBe('')
})

/** What promtool finds wrong. */
function testRules(input_series: object[], alert_rule_test: object[]): string {
  const folder = temporaryFolder()
  copyFileSync(rules, join(folder, 'alerts.yml'))
  const tests = [{ interval: '1m', input_series, alert_rule_test }]
  const cases = { rule_files: ['alerts.yml'], evaluation_interval: '1m', tests }
  // YAML includes JSON.
  writeFileSync(join(folder, 'cases.yml'), JSON.stringify(cases))
  const { status, stdout, stderr } = spawnSync(
    'promtool',
    ['test', 'rules', join(folder, 'cases.yml')],
    { encoding: 'utf8' },
  )
  return status === 0 ? '' : stdout + stderr
}

test('the rules name metrics and labels of a running server', async () => {
  const metricsPort = await freePort()
  const { request } = await serve(await copyWorld(), { METRICS_PORT: String(metricsPort) })
  await request('GET', '/apps')
  const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
  const scraped = await response.text()
  const text = readFileSync(rules, 'utf8')
  const names = [...text.matchAll(/^ +expr: (.+)$/gm)].flatMap(([, expression = '']) => [
    ...expression.matchAll(/\b[a-z]+(_[a-z0-9]+)+/g),
  ])
  const labels = [...text.matchAll(/\$labels\.(\w+)/g)].filter(([, label]) => label !== 'instance')
  expect(names.length).toBeGreaterThan(5)
  expect(labels).toHaveLength(1)
  for (const name of [...names.map(([name]) => name), ...labels.map(([, label]) => label)])
    expect(scraped).toContain(name)
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
  runUntilFinished('prometheus', [
    `--config.file=${config}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=${address}`,
  ])
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
