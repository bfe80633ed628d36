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
        name: `Deep Ocean ${state} Map`,
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
    ['its exact slug', (state) => `deep-ocean-${state}-map`],
    ['its package name', (state) => `org.Sea.${state}`],
    ['its package name in another case', (state) => `ORG.sea.${state}`],
    ['its name', (state) => `Deep Ocean ${state} Map`],
    ['its name in another case', (state) => `dEEP oCEAN ${state.toUpperCase()} mAP`],
    ['its name in letters that look the same', (state) => `Deep 0cean ${state} Map`],
    ['the beginning of its name', (state) => `Deep Ocean ${state.slice(0, 3)}`],
    [
      'the beginning of its name with white space around',
      (state) => ` deep ocean ${state.slice(0, 3)} `,
    ],
    ['a word in the middle of its name', (state) => state],
    ['the beginning of a word in the middle of its name', (state) => state.slice(0, 3)],
    ['words of its name in another order', (state) => `map ${state} ocean`],
  ]
  const table = states.flatMap((state) => ways.map(([way, text]) => ({ state, way, text })))

  test.for(table)('$state, by $way', async ({ state, text }) => {
    const id = ids[state] ?? 0
    const written = await text(state, id)
    const found = await find(ada, written)
    expect([found.status, titleOf(found.text)]).toEqual([200, 'Apps – Moderation'])
    expect(valuesOf(found.text, 'text')).toEqual([written.trim()])
    expect(queued(found.text).map((name) => name.toLowerCase())).toEqual([
      `deep ocean ${state} map`,
    ])
    expect(linksOf(found.text)).toContainEqual([`Deep Ocean ${state} Map`, `/apps/${id}`])
    expect(textOf(found.text)).toMatch(new RegExp(`1 app\\. .*Ocean ${state} Map ${state}`, 'i'))
  })

  test('with all others of its developer, the newest first', async () => {
    const { text } = await find(ada, 'Bob')
    expect(queued(text)).toEqual([
      ...states.map((state) => `Deep Ocean ${state} Map`).toReversed(),
      'Night Train',
      'Bird Song',
    ])
    expect(textOf(text)).toContain('6 apps.')
    // Also by the beginning of a word of the developer's name, but not by its end.
    expect(queued((await find(ada, 'bo')).text)).toEqual(queued(text))
    expect(queued((await find(ada, 'ob')).text)).toEqual([])
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
  ['100_', ['100% Fun']],
  ['fun', ['100% Fun']],
  ['fun 100', ['100% Fun']],
  ['un', []],
  ['%', []],
  ['_', []],
  ['éc', ['École', 'école 2']],
  ['ÉCOLE', ['École', 'école 2']],
  ['École 2', ['école 2']],
  ['東', ['東京']],
  ['京', ['東京']],
  ['zz', ['Zz', 'zz 😀', 'Zzz']],
  // Users could take the one for the other.
  ['zz 😀', ['Zz', 'zz 😀']],
  ['😀', ['zz 😀']],
  ['nothing', []],
  ["'; drop table apps; --", []],
  ['\0', []],
  ['x'.repeat(255), []],
  ['x'.repeat(256), []],
  ['0', ['App 0']],
  // The beginning of a number.
  ['-1', ['100% Fun']],
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

test.for<[count: number, message: string]>([
  [50, '50 apps.'],
  [51, 'The first 50 apps.'],
  [1001, 'The first 50 apps.'],
])('of %i apps, the newest fifty are shown: %s', async ([count, message]) => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const names = Array.from({ length: count }, (_, index) => `Wave ${index}`)
  await addApps(
    page,
    names.map((name) => ({ name })),
  )
  const { text } = await find(ada, 'wave')
  expect(queued(text)).toEqual(names.toReversed().slice(0, 50))
  expect(textOf(text)).toContain(` Find ${message} `)
  // Each once, although it is found in several ways.
  expect(new Set(queued((await find(ada, 'Bob')).text)).size).toBe(50)
})

test('names and the text that finds them are shown as texts', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const name = '<b>Salt</b> & "Pepper" <script>alert(1)</script>'
  await addApps(page, [{ name, short_description: '<i>Spices</i>' }])
  for (const written of ['pepper', name, `"><b>pepper</b> & salt`]) {
    const { status, text } = await find(ada, written)
    expect([written, status, queued(text)]).toEqual([written, 200, [name]])
    expect(valuesOf(text, 'text')).toEqual([written])
    expect(textOf(text)).toContain('<i>Spices</i>')
    expect(text).not.toMatch(/<(b|i|script)>/)
  }
})
