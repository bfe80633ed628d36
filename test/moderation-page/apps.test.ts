import { describe, expect, inject, test } from 'vitest'
import type { AppState } from '../../src/moderation/app-filter.ts'
import { formOf, linksOf, textOf, titleOf, valuesOf } from '../support/html.ts'
import { share } from '../support/lifetime.ts'
import {
  addApps,
  decide,
  follow,
  type ModerationPage,
  type Moderator,
  queued,
  referenceTo,
  startModerationPage,
  stateOf,
} from '../support/moderation-page.ts'

/** Finding apps, also those that do not wait. */

const { apps } = inject('world')

const find = (visitor: Moderator, text: string) =>
  visitor.get(`/apps?${new URLSearchParams({ text })}`)

describe('an app in any state is found', () => {
  const states: AppState[] = ['pending', 'approved', 'rejected', 'deleted']
  let page: ModerationPage
  let ada: Moderator
  let ids: Record<string, number>
  share(async () => {
    page = await startModerationPage()
    ada = await page.signIn('Ada')
    const added = await addApps(
      page,
      states.map((state) => ({
        name: `Ocean ${state}`,
        package_name: `org.Sea.${state}`,
        status: state === 'deleted' ? 'pending' : state,
        ...(state === 'approved' && { approved_at: '2026-01-05T00:00:00.000Z' }),
        ...(state === 'rejected' && { rejection_reason: 'No.' }),
      })),
    )
    ids = Object.fromEntries(states.map((state, index) => [state, added[index] ?? 0]))
    await page.database.write(({ sql }) =>
      sql('apps')
        .where({ id: ids.deleted ?? 0 })
        .update({ deleted_at: '2026-02-01T00:00:00.000Z' }),
    )
  })

  const ways: [way: string, text: (state: string, id: number) => string | Promise<string>][] = [
    ['its id', (_, id) => String(id)],
    ['its id as people write it', (_, id) => `#${id}`],
    ['its id and revision', (_, id) => referenceTo(page, id)],
    ['its id and a former revision', (_, id) => `${id}@former`],
    ['its exact slug', (state) => `ocean-${state}`],
    ['its package name', (state) => `org.Sea.${state}`],
    ['its package name in another case', (state) => `ORG.sea.${state}`],
    ['its name', (state) => `Ocean ${state}`],
    ['its name in another case', (state) => `oCEAN ${state.toUpperCase()}`],
    ['the beginning of its name', (state) => `Ocean ${state.slice(0, 3)}`],
    [
      'the beginning of its name with white space around',
      (state) => ` ocean ${state.slice(0, 3)} `,
    ],
  ]
  const table = states.flatMap((state) => ways.map(([way, text]) => ({ state, way, text })))

  test.for(table)('$state, by $way', async ({ state, text }) => {
    const id = ids[state] ?? 0
    const written = await text(state, id)
    const found = await find(ada, written)
    expect([found.status, titleOf(found.text)]).toEqual([200, 'Apps – Moderation'])
    expect(valuesOf(found.text, 'text')).toEqual([written.trim()])
    expect(queued(found.text).map((name) => name.toLowerCase())).toEqual([`ocean ${state}`])
    expect(linksOf(found.text)).toContainEqual([`Ocean ${state}`, `/apps/${id}`])
    expect(textOf(found.text)).toMatch(new RegExp(`1 app\\. .*Ocean ${state} ${state}`, 'i'))
  })

  test('with all others of its developer, the newest first', async () => {
    const { text } = await find(ada, 'Bob')
    expect(queued(text)).toEqual([
      ...states.map((state) => `Ocean ${state}`).toReversed(),
      'Night Train',
      'Bird Song',
    ])
    expect(textOf(text)).toContain('6 apps.')
    // The name of a developer is exact.
    for (const other of ['Bo', 'bob']) expect(queued((await find(ada, other)).text)).toEqual([])
  })

  test('and decided from there, in a state that does not wait', async () => {
    const own = await startModerationPage()
    const bo = await own.signIn('Bo')
    const [, address = ''] =
      linksOf((await find(bo, 'broken')).text).find(([name]) => name === 'Broken Compass') ?? []
    const { text } = await bo.get(address)
    const decided = await decide(bo, text, 'approve')
    expect(decided.headers.location).toBe(`/apps/${apps.rejected}?decided=${apps.rejected}`)
    expect((await follow(bo, decided)).status).toBe(200)
    expect(await stateOf(own, apps.rejected)).toMatchObject({ status: 'approved' })
    expect(textOf((await find(bo, 'broken')).text)).toContain('Broken Compass Approved')
  })
})

test.for<[text: string, found: string[]]>([
  ['7', ['App 0', '7 Wonders']],
  ['7 w', ['7 Wonders']],
  ['100%', ['100% Fun']],
  ['100_', []],
  ['%', []],
  ['_', []],
  ['éc', ['École', 'école 2']],
  ['ÉCOLE', ['École', 'école 2']],
  ['École 2', ['école 2']],
  ['東', ['東京']],
  ['zz', ['Zz', 'zz 😀', 'Zzz']],
  ['zz 😀', ['zz 😀']],
  ['nothing', []],
  ["'; drop table apps; --", []],
  ['\0', []],
  ['x'.repeat(255), []],
  ['x'.repeat(256), []],
  ['0', []],
  ['-1', []],
  ['1e0', []],
  ['2147483648', []],
  ['999999999999999', []],
  ['9'.repeat(200), []],
])('the text %j finds %j', async ([text, found]) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  // The first of these has the id 7.
  const names = ['App 0', '7 Wonders', '100% Fun', 'École', 'école 2', '東京', 'Zz', 'Zzz', 'zz 😀']
  await addApps(
    page,
    names.map((name) => ({ name })),
  )
  const response = await find(ada, text)
  expect([response.status, queued(response.text).toSorted()]).toEqual([200, found.toSorted()])
  expect(textOf(response.text).includes('No app in any state.')).toBe(found.length === 0)
})

test.for(['/apps', '/apps?text=', '/apps?text=%20'])('%s asks for a text', async (path) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const { status, text } = await ada.get(path)
  expect([status, queued(text), formOf(text, '/apps')]).toEqual([
    200,
    [],
    { action: '/apps', fields: { text: [''] } },
  ])
  expect(textOf(text)).not.toContain('No app in any state.')
})

test('finds fifty apps at most, and says so', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  await addApps(
    page,
    Array.from({ length: 51 }, (_, index) => ({ name: `Wave ${index + 10}` })),
  )
  const many = (await find(ada, 'wave')).text
  expect(queued(many)).toHaveLength(50)
  expect(textOf(many)).toContain('The first 50 apps.')
  // Each once, although it is found in several ways.
  const ofBob = queued((await find(ada, 'Bob')).text)
  expect(new Set(ofBob).size).toBe(50)
  const fewer = (await find(ada, 'wave 1')).text
  expect(queued(fewer)).toEqual(Array.from({ length: 10 }, (_, index) => `Wave ${index + 10}`))
  expect(textOf(fewer)).toContain('10 apps.')
})
