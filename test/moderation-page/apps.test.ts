import { expect, inject, test } from 'vitest'
import { addressOf, formOf, textOf, titleOf, valuesOf } from '../support/html.ts'
import {
  addApps,
  decide,
  follow,
  queued,
  startWithAda,
  type Visitor,
} from '../support/moderation-page.ts'

/** Finding apps in any state. moderation/finder.engines.test.ts has what a text finds. */

const { apps } = inject('world')

const find = (visitor: Visitor, text: string) =>
  visitor.get(`/apps?${new URLSearchParams({ text })}`)

test('an app in any state is found, and decided from there', async () => {
  const { ada } = await startWithAda()
  const found = await find(ada, ' Ada ')
  expect([found.status, titleOf(found.text)]).toEqual([200, 'Apps – Moderation'])
  expect(valuesOf(found.text, 'text')).toEqual(['Ada'])
  expect(queued(found.text)).toEqual(['Gone', 'Broken Compass', 'Cloud Atlas', 'Tide Clock'])
  expect(textOf(found.text)).toMatch(
    / 4 apps\. .*Gone Deleted .*Broken Compass Rejected .*Cloud Atlas Pending .*Tide Clock Approved /,
  )
  const { text } = await ada.get(addressOf(found.text, 'Broken Compass'))
  const decided = await decide(ada, text, 'approve')
  expect(decided.headers.location).toBe(`/apps/${apps.rejected}?decided=${apps.rejected}`)
  expect((await follow(ada, decided)).status).toBe(200)
  expect(textOf((await find(ada, 'broken')).text)).toContain(' 1 app. ')
  expect(textOf((await find(ada, 'broken')).text)).toContain('Broken Compass Approved')
})

test.for(['nothing', '%', '\0', 'x'.repeat(1000)])('the text %j finds no app', async (text) => {
  const { ada } = await startWithAda()
  const found = await find(ada, text)
  expect([found.status, queued(found.text)]).toEqual([200, []])
  expect(textOf(found.text)).toContain('No app in any state.')
})

test.for(['/apps', '/apps?text=', '/apps?text=%20'])('%s asks for a text', async (path) => {
  const { ada } = await startWithAda()
  const { status, text } = await ada.get(path)
  expect([status, queued(text), formOf(text, '/apps')]).toEqual([
    200,
    [],
    { action: '/apps', fields: { text: [''] } },
  ])
  expect(textOf(text)).not.toContain('No app in any state.')
})

test.for([
  { count: 50, message: '50 apps.' },
  { count: 51, message: 'The first 50 apps.' },
])('of $count apps, the newest fifty are shown', async ({ count, message }) => {
  const { page, ada } = await startWithAda()
  const names = Array.from({ length: count }, (_, index) => `Wave ${index}`)
  await addApps(
    page,
    names.map((name) => ({ name })),
  )
  const { text } = await find(ada, 'wave')
  expect(queued(text)).toEqual(names.toReversed().slice(0, 50))
  expect(textOf(text)).toContain(` Find ${message} `)
})

test('names and the text that finds them are shown as texts', async () => {
  const { page, ada } = await startWithAda()
  const name = '<b>Salt</b> & "Pepper"'
  await addApps(page, [{ name, short_description: '<i>Spices</i>' }])
  const written = '"><b>pepper</b> & salt'
  const { text } = await find(ada, written)
  expect([queued(text), valuesOf(text, 'text')]).toEqual([[name], [written]])
  expect(textOf(text)).toContain('<i>Spices</i>')
  expect(text).not.toMatch(/<[bi]>/)
})
