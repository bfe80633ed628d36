import { expect, test } from 'vitest'
import { addModerator, revokeModerator } from '../../src/accounts/moderator-store.ts'
import {
  beginSession,
  endSessions,
  findAppsOpenElsewhere,
  findSession,
  recordOpenedApp,
  recordSessionUse,
} from '../../src/accounts/session-store.ts'
import type { QueryRunner } from '../../src/db/engine.ts'
import { freezeClock } from '../support/clock.ts'
import { openWorld } from '../support/database.ts'

const hour = 60 * 60 * 1000
const actor = { operator: 'test' }

/** Tokens of sessions, and ids of sign-in keys. Bo is signed in twice. */
type Started = {
  tokens: Record<'bo' | 'boElsewhere' | 'cy', string>
  ids: Record<'bo' | 'cy', string>
}

test.for<{
  what: string
  act: (runner: QueryRunner, started: Started) => Promise<unknown>
  ends: (keyof Started['tokens'])[]
  /** The sessions whose use is stored. */
  uses?: (keyof Started['tokens'])[]
}>([
  { what: 'nothing', act: async () => {}, ends: [] },
  {
    what: 'signing out',
    act: (runner, { tokens }) => endSessions(runner, [tokens.bo]),
    ends: ['bo'],
  },
  { what: 'signing out again', act: (runner) => endSessions(runner, ['x']), ends: [] },
  {
    what: 'a use',
    act: (runner, { tokens }) => recordSessionUse(runner, tokens.bo),
    ends: [],
    uses: ['bo'],
  },
  { what: 'a sign-in', act: (runner, { ids }) => beginSession(runner, ids.cy), ends: [] },
  {
    what: 'a revoked key',
    act: (runner, { ids }) => revokeModerator(runner, ids.bo, actor),
    ends: ['bo', 'boElsewhere'],
  },
])(
  'of the sessions of moderators, $what ends $ends and renews $uses',
  async ({ act, ends, uses = [] }) => {
    const { read, write } = await openWorld()
    const begin = freezeClock()
    const add = async (name: string) =>
      (await write((runner) => addModerator(runner, name, actor))).id
    const ids = { bo: await add('Bo'), cy: await add('Cy') }
    const tokens = {
      bo: await write((runner) => beginSession(runner, ids.bo)),
      boElsewhere: await write((runner) => beginSession(runner, ids.bo)),
      cy: await write((runner) => beginSession(runner, ids.cy)),
    }
    freezeClock(begin + hour)
    await write((runner) => act(runner, { tokens, ids }))
    for (const name of ['bo', 'boElsewhere', 'cy'] as const) {
      const found = read((runner) => findSession(runner, [tokens[name]]))
      if (ends.includes(name)) {
        await expect(found, name).rejects.toMatchObject({ code: 'unauthorized' })
        continue
      }
      const id = name === 'cy' ? ids.cy : ids.bo
      expect(await found, name).toMatchObject({ moderator: { id }, isUseDue: !uses.includes(name) })
    }
  },
)

test('of two sessions that have an app open, others are told of the one that opened it first', async () => {
  const { read, write } = await openWorld()
  const begin = freezeClock()
  const minute = 60_000
  const signIn = async (name: string) => {
    const { id } = await write((runner) => addModerator(runner, name, actor))
    return write((runner) => beginSession(runner, id))
  }
  const tokens = [await signIn('Bo'), await signIn('Cy'), await signIn('Di')]
  for (const [index, token] of tokens.entries()) {
    freezeClock(begin + index * minute)
    await write((runner) => recordOpenedApp(runner, token, 1))
  }
  const found = await Promise.all(
    tokens.map((token) => read((runner) => findAppsOpenElsewhere(runner, token))),
  )
  const at = (minutes: number) => new Date(begin + minutes * minute).toISOString()
  expect(found.map((apps) => apps.get(1))).toEqual([
    { moderator: 'Cy', since: at(1) },
    { moderator: 'Bo', since: at(0) },
    { moderator: 'Bo', since: at(0) },
  ])
})
