import { expect, test } from 'vitest'
import {
  fieldOf,
  fieldsOf,
  idList,
  maxSelected,
  nextApp,
  parseQueueView,
  seenEntry,
  shownApp,
} from '../../src/moderation-page/forms.ts'

/** Fields of forms and addresses, as `node:querystring` parses them. */

test.for([
  { what: 'missing', value: undefined, values: [] },
  { what: 'empty', value: '', values: [] },
  { what: 'given once', value: 'a', values: ['a'] },
  { what: 'given several times', value: ['a', '', 'b'], values: ['a', 'b'] },
  // PostgreSQL has no NUL in texts.
  { what: 'with NUL', value: 'a\0', values: ['a\uFFFD'] },
])('a field that is $what', ({ value, values }) => {
  expect(fieldsOf({ app: value }, 'app')).toEqual(values)
  expect(fieldOf({ app: value }, 'app')).toBe(values[0] ?? '')
})

test.for([
  { text: '', ids: [] },
  { text: '5', ids: [5] },
  { text: '999 x 5', ids: [999, 5] },
  { text: '-5 5e0 0x5 05 5.0 0', ids: [] },
  { text: '5,2', ids: [] },
  { text: '999999999999999 9999999999999999', ids: [999_999_999_999_999] },
  { text: '5 '.repeat(3000), ids: Array(maxSelected).fill(5) },
])('$text has the ids $ids', ({ text, ids }) => {
  expect(idList(text)).toEqual(ids)
})

test('an app of a form has the revision that was shown', () => {
  expect(shownApp('108@k3f9a')).toEqual({ id: 108, revision: 'k3f9a' })
  for (const text of ['', '2', 'Tide', '2@a\uFFFD', '-1@a', '1.5@a', '0@a', `${'9'.repeat(20)}@a`])
    expect(() => shownApp(text), text).toThrow('108@k3f9a')
})

test.for([
  { after: '', position: undefined },
  {
    after: '2026-01-01T00:00:00.000Z~7',
    position: { waiting_since: '2026-01-01T00:00:00.000Z', id: 7 },
  },
])('the place $after in a queue', ({ after, position }) => {
  expect(parseQueueView({ after }).after).toEqual(position)
})

test.for(['x', '1', '2026-01-01~1', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z~0'])(
  '%j is no place in a queue',
  (after) => {
    expect(() => parseQueueView({ after })).toThrow('after must be a place in the queue')
  },
)

test('the filter of a queue is trimmed, and an empty one filters nothing', () => {
  const none = { developer: undefined, category: undefined }
  expect(parseQueueView({ queue: 'other', developer: ' ', category: '' })).toMatchObject({
    queue: 'pending',
    filter: none,
  })
  expect(parseQueueView({ queue: 'changed', developer: ' Ada ', category: 'games' })).toMatchObject(
    { queue: 'changed', filter: { developer: 'Ada', category: 'games' } },
  )
})

test('the next app is a number, and the last entry that was seen is one or unknown', () => {
  expect(nextApp({})).toBeUndefined()
  expect(nextApp({ next: '7' })).toBe(7)
  expect(() => nextApp({ next: '0' })).toThrow('next must be a whole number from 1')
  expect(['7', '', 'x', '9'.repeat(16)].map((seen) => seenEntry({ seen }))).toEqual([
    7,
    undefined,
    undefined,
    undefined,
  ])
})
