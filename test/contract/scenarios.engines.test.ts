import { describe, expect, inject, test } from 'vitest'
import { share } from '../support/lifetime.ts'
import { type Service, startService } from '../support/service.ts'
import type { Scenario } from './scenarios/scenario.ts'
import { expectResponse, namesOf, scenarioOf, tables } from './scenarios.ts'

/** For the scenarios that change nothing. */
let unchanged: Service
share(async () => {
  unchanged = await startService()
})

const isChange = ({ request: [method], status }: Scenario) =>
  ['POST', 'PUT', 'DELETE'].includes(method) && status < 300

describe.for(Object.entries(tables))('%s', ([, table]) => {
  test.for(namesOf(table))('%s', async (name) => {
    const scenario = scenarioOf(table, name, inject('world'))
    const service = isChange(scenario) ? await startService() : unchanged
    expectResponse(scenario, await service.request(...scenario.request))
  })
})

test('a 404 has the same body for every hidden or missing app', async () => {
  const service = await startService()
  const { apps, keys } = service.world
  const hidden = [
    '/apps/999',
    `/apps/${apps.pending}`,
    `/apps/${apps.rejected}`,
    `/apps/${apps.deleted}`,
  ]
  const replies = await Promise.all([
    ...hidden.map((path) => service.get(path, { key: keys.bob })),
    service.get(`/apps/${apps.rejected}`, { key: keys.oneApp }),
  ])
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
})
