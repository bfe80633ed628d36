import { expect, inject, test } from 'vitest'
import { expectStatuses } from '../support/check.ts'
import { share } from '../support/lifetime.ts'
import {
  type Fields,
  formBody,
  type ModerationPage,
  type Moderator,
  newestEntries,
  startWithAda,
} from '../support/moderation-page.ts'

/** Values that a database refuses or reads as something else, wherever the page reads a value. */

const { apps } = inject('world')

let page: ModerationPage
let ada: Moderator
share(async () => {
  ;({ page, ada } = await startWithAda())
})

const numbers = ['2147483648', '999999999999999']
const values = [
  ...['\0', '\u{10FFFF}', ...numbers, '#2147483648@a'],
  ...['2026-01-01T00:00:00.000Z~999999999999999', '9999-99-99T99:99:99.999Z~1'],
]

test.for<{ path: string; parameters: string[] }>([
  { path: '/?', parameters: ['developer', 'category', 'after', 'decided', 'refused'] },
  { path: '/apps?', parameters: ['text'] },
  { path: '/apps/1?queue=pending&', parameters: ['after', 'review', 'next'] },
  { path: '/next?', parameters: ['after'] },
  {
    path: '/audit?',
    parameters: ['moderator', 'developer', 'app', 'since', 'until', 'before', 'entry'],
  },
  { path: '/sign-in?', parameters: ['next'] },
])('in the parameters of $path', async ({ path, parameters }) => {
  for (const name of parameters)
    for (const value of values) {
      const { status } = await ada.get(path + formBody({ [name]: value }))
      expect([200, 303, 400, 404], `${name}=${value}`).toContain(status)
    }
})

test.for(['\0', '%', '0', '-1', '1.5', ...numbers])('as the id %j', async (id) => {
  const before = await newestEntries(page, 1)
  const reason = 'Spam'
  const responses = [
    await ada.get(`/apps/${encodeURIComponent(id)}`),
    await ada.post('/removed-reviews', { app: '1', review: id, reason }),
    await ada.post('/removed-reviews', { app: id, review: '999999', reason }),
    await ada.post('/restorations', { app: `${id}@a` }),
    await ada.post('/decisions', { app: `${id}@a`, decision: 'approve', seen: '1' }),
  ]
  expectStatuses(responses, [404, 400, 400, 400, 400])
  expect(await newestEntries(page, 1)).toEqual(before)
})

test.for<{ path: string; fields: Fields }>([
  {
    path: '/decisions',
    fields: { app: '1@a', decision: 'reject', reason: 'Spam', seen: '1', next: '1' },
  },
  { path: '/reopenings', fields: { reopened: '1@a', next: '1' } },
  { path: '/restorations', fields: { app: '1@a' } },
  // There is no such review; another one would be removed.
  {
    path: '/removed-reviews',
    fields: { app: String(apps.bobs), review: '999999', reason: 'Spam' },
  },
  { path: '/sign-in', fields: { key: 'x', next: '/' } },
])('in the fields of $path', async ({ path, fields }) => {
  const before = await newestEntries(page, 1)
  for (const name of [...Object.keys(fields), 'key'])
    for (const value of ['\0', '\u{10FFFF}', '%', ...numbers]) {
      const { status } = await ada.post(path, { ...fields, [name]: value })
      expect([400, 401, 409], `${name}=${value}`).toContain(status)
    }
  expect(await newestEntries(page, 1)).toEqual(before)
})
