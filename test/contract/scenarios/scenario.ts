import { expect } from 'vitest'
import type { World } from '../../support/world.ts'
import { type Call, newApp } from '../valid-requests.ts'

/**
 * One request to the world of support/world.ts, and the expected response. The tables record the
 * interface's decisions.
 */
export type Scenario = {
  name: string
  request: Call
  status: number
  code?: string
  /** `in field` of each problem, in any order. */
  problems?: string[]
  message?: RegExp
  data?: object
  headers?: Record<string, string | RegExp>
  /** What the response and its headers must not contain. */
  without?: RegExp
}

export type Table = (world: World) => Scenario[]

export const jsonType = { 'Content-Type': 'application/json' }

export const listed = (
  names: string[],
  pages: Partial<Record<'current_page' | 'total_pages' | 'per_page', number>> = {},
) => ({
  apps: names.map((name) => expect.objectContaining({ name })),
  pagination: { current_page: 1, total_pages: names.length > 0 ? 1 : 0, per_page: 20, ...pages },
})

export const createWith = (keys: World['keys'], fields: object): Call => [
  'POST',
  '/apps',
  { key: keys.ada, json: { ...newApp, ...fields } },
]
