import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import { copyWorld, temporaryFolder } from '../support/database.ts'
import { commandLine, serve } from '../support/process.ts'

const root = `${import.meta.dirname}/../..`
const example = `${root}/openapi/life-cycle.arazzo.yaml`

type Step = { stepId: string }
type Workflow = { workflowId: string; steps: Step[] }
type Check = { name: string; message: string; passed: boolean }
type Executed = { stepId: string; checks: Check[]; retriesLeft?: number }
type Report = {
  files: Record<string, { executedWorkflows: { workflowId: string; executedSteps: Executed[] }[] }>
}

const described: Workflow[] = parse(readFileSync(example, 'utf8')).workflows

test('every step of the worked example holds against a running server', async () => {
  const address = await copyWorld()
  const { keys, apps } = inject('world')
  const { port } = await serve(address)
  const report = join(temporaryFolder(), 'report.json')
  const server = `apps=http://127.0.0.1:${port}`
  const args = [
    'respect',
    example,
    '--server',
    server,
    '--input',
    `key=${keys.ada}`,
    '--json-output',
    report,
  ]
  const respect = spawn(`${root}/node_modules/.bin/redocly`, args, {
    env: {
      PATH: process.env.PATH,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    },
  })
  const exited = once(respect, 'exit')

  let output = ''
  let approval: ReturnType<ReturnType<typeof commandLine>['run']> | undefined
  for (const stream of [respect.stdout, respect.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      output += `${line}\n`
      // The first attempt got a 404; now the operator approves.
      if (line.includes('Retrying step waitForApproval')) {
        approval ??= commandLine(address).run('moderation', 'approve', String(apps.bobsPending + 1))
      }
    })
  }
  const [code] = await exited
  expect(existsSync(report), output).toBe(true)

  // Final failures; the attempts before the approval do not count.
  const executed = Object.values((JSON.parse(readFileSync(report, 'utf8')) as Report).files)
    .flatMap(({ executedWorkflows }) => executedWorkflows)
    .map(({ workflowId, executedSteps }) => ({
      workflowId,
      steps: executedSteps.filter(({ retriesLeft = 0 }) => retriesLeft === 0),
    }))
  const failures = executed.flatMap(({ workflowId, steps }) =>
    steps.flatMap(({ stepId, checks }) =>
      checks
        .filter(({ passed }) => !passed)
        .map(({ name, message }) => `${workflowId} ${stepId}: ${name}: ${message}`),
    ),
  )
  expect(failures).toEqual([])
  expect(await approval).toMatchObject({ code: 0 })
  expect(code, output).toBe(0)

  // All steps ran.
  const names = (workflows: { workflowId: string; steps: { stepId: string }[] }[]) =>
    workflows.flatMap(({ workflowId, steps }) =>
      steps.map(({ stepId }) => `${workflowId} ${stepId}`),
    )
  expect(names(executed)).toEqual(names(described))
})
