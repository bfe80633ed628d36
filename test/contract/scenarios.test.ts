import { describe, expect, test } from 'vitest'
import { startService } from '../support/service.ts'
import { hold, namesOf, scenarioOf, tables } from './scenarios.ts'

describe.for(Object.entries(tables))('%s', ([, table]) => {
  test.for(namesOf(table))('%s', async (name) => {
    const service = await startService()
    const scenario = scenarioOf(table, name, service.world)
    hold(scenario, await service.request(...scenario.request))
  })
})

test('a 404 has the same body for every hidden or missing app', async () => {
  const service = await startService()
  const { apps, keys } = service.world
  const hidden = ['/nowhere', '/apps/999', `/apps/${apps.pending}`, `/apps/${apps.rejected}`, `/apps/${apps.deleted}`]
  const replies = await Promise.all(hidden.map((path) => service.get(path, { key: keys.bob })))
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
})
