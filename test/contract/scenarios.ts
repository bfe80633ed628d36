import { expect } from 'vitest'
import type { OperationId } from '../../src/contract/contract.ts'
import type { CheckedResponse } from '../support/check.ts'
import type { World } from '../support/world.ts'
import { createApp } from './scenarios/create-app.ts'
import { createAppBody } from './scenarios/create-app-body.ts'
import { createAppFields } from './scenarios/create-app-fields.ts'
import { deleteApp } from './scenarios/delete-app.ts'
import { getApp } from './scenarios/get-app.ts'
import { listApps } from './scenarios/list-apps.ts'
import { listAppsFilters } from './scenarios/list-apps-filters.ts'
import { listCategories } from './scenarios/list-categories.ts'
import { listOwnApps } from './scenarios/list-own-apps.ts'
import { pathsAndMethods } from './scenarios/paths-and-methods.ts'
import type { Scenario, Table } from './scenarios/scenario.ts'
import { updateApp } from './scenarios/update-app.ts'

/** Scenarios by operation, and those of unknown paths and methods. */
export const tables: Record<OperationId | 'paths and methods', Table> = {
  listApps: (world) => [...listApps(world), ...listAppsFilters(world)],
  listCategories,
  listOwnApps,
  getApp,
  createApp: (world) => [...createApp(world), ...createAppBody(world), ...createAppFields(world)],
  updateApp,
  deleteApp,
  'paths and methods': pathsAndMethods,
}

export function expectResponse(
  { status, code, problems, message, data, headers = {}, without }: Scenario,
  reply: CheckedResponse,
) {
  expect(reply.status, reply.text).toBe(status)
  if (code !== undefined) expect(reply.body.data.code).toBe(code)
  if (problems) {
    const found = reply.body.data.errors.map(
      (problem: { in: string; field: string }) => `${problem.in} ${problem.field}`,
    )
    expect(found.toSorted()).toEqual(problems.toSorted())
  }
  if (message) expect(reply.body.message).toMatch(message)
  if (data) expect(reply.body.data).toEqual(data)
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') expect(reply.headers[name.toLowerCase()], name).toBe(value)
    else expect(reply.headers[name.toLowerCase()], name).toMatch(value)
  }
  if (without) expect(`${JSON.stringify(reply.headers)}${reply.text}`).not.toMatch(without)
}

const placeholder: World = {
  source: '',
  keys: { ada: '', bob: '', expired: '', revoked: '', oneApp: '', readOnly: '' },
  categories: { tools: 0, games: 0, empty: 0 },
  apps: { approved: 0, pending: 0, rejected: 0, deleted: 0, bobs: 0, bobsPending: 0 },
}

/** Names are the same in every world; ids and keys are filled in when the test runs. */
export const namesOf = (table: Table) => table(placeholder).map(({ name }) => name)

export function scenarioOf(table: Table, name: string, world: World): Scenario {
  const scenario = table(world).find((one) => one.name === name)
  if (!scenario) throw new Error(`no scenario ${name}`)
  return scenario
}
