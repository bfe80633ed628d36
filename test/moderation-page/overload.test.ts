import { expect, inject, test } from 'vitest'
import { queueLimits } from '../../src/db/database.ts'
import { freezeClock } from '../support/clock.ts'
import { textOf, valuesOf } from '../support/html.ts'
import {
  type Fields,
  type ModerationPage,
  newestEntries,
  referenceTo,
  startModerationPage,
} from '../support/moderation-page.ts'
import { concurrency, saturate } from '../support/saturate.ts'

/** While the database takes no writes, which is not the fault of a moderator or a key. */

const { apps } = inject('world')

/** Fills the queue of writes, so that further ones are refused at once, until released. */
async function refuseWrites({ database }: ModerationPage) {
  const release = await saturate((work) => database.write(work), concurrency.write)
  const queued = Array.from({ length: queueLimits.write.queueLimit }, () =>
    database.write(async () => {}).catch(() => {}),
  )
  return async () => {
    await release()
    await Promise.all(queued)
  }
}

test('each form says that nothing could be stored, and none does a half of its work', async () => {
  const page = await startModerationPage()
  const ada = await page.signIn('Ada')
  const { key } = await page.addOperator('Bo')
  const [review = ''] = valuesOf((await ada.get(`/apps/${apps.approved}`)).text, 'review')
  const pending = await referenceTo(page, apps.pending)
  const forms: [path: string, fields: Fields, told: string][] = [
    ['/sign-in', { key }, ''],
    ['/sign-out', {}, ''],
    ['/decisions', { app: pending, decision: 'approve' }, 'Some of the apps may have been decided'],
    [
      '/decisions',
      { app: pending, decision: 'approve', seen: '1' },
      'Some of the apps may have been decided',
    ],
    ['/restorations', { app: await referenceTo(page, apps.deleted) }, ''],
    ['/removed-reviews', { review, reason: 'An advert.' }, ''],
  ]
  const before = await newestEntries(page, 1)
  const release = await refuseWrites(page)
  for (const [path, fields, told] of forms) {
    const { status, headers, text } = await ada.post(path, fields)
    expect([path, status]).toEqual([path, 503])
    expect(textOf(text)).toContain(told)
    expect(headers['set-cookie']).toBeUndefined()
  }
  await release()
  expect(await newestEntries(page, 1)).toEqual(before)
  expect((await ada.get('/')).status).toBe(200)
})

test('pages are shown to those who are signed in, although their use cannot be stored', async () => {
  const page = await startModerationPage()
  const start = freezeClock()
  const ada = await page.signIn('Ada')
  freezeClock(start + 60 * 60 * 1000)
  const release = await refuseWrites(page)
  for (const path of ['/', `/apps/${apps.pending}`, '/status', '/audit'])
    expect((await ada.get(path)).status).toBe(200)
  await release()
})
