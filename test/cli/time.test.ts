import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { elapsedSeconds, parseFutureTime, parsePastTime } from '../../src/cli/time.ts'
import { secondsSince } from '../../src/util/helpers.ts'
import { formatAge, formatMinute } from '../../src/util/time.ts'
import { freezeMonotonicClock } from '../support/clock.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-11-20T12:00:00.000Z') })
})
afterEach(() => {
  vi.useRealTimers()
})

test.for<[text: string, past: string]>([
  ['90d', '2026-08-22T12:00:00.000Z'],
  ['12h', '2026-11-20T00:00:00.000Z'],
  ['1.5 h', '2026-11-20T10:30:00.000Z'],
  ['15m', '2026-11-20T11:45:00.000Z'],
  ['15min', '2026-11-20T11:45:00.000Z'],
  ['1.25h', '2026-11-20T10:45:00.000Z'],
  ['2w', '2026-11-06T12:00:00.000Z'],
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2026-01-31 09:30', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31T09:30:15.123Z', '2026-01-31T09:30:15.123Z'],
  ['2026-01-31T09:30:15+02:00', '2026-01-31T07:30:15.000Z'],
])('%s is the past time %s', ([text, expected]) => {
  expect(parsePastTime(text)).toBe(expected)
})

test.for<[text: string, future: string]>([
  ['90d', '2027-02-18T12:00:00.000Z'],
  ['1y', '2027-11-20T18:00:00.000Z'],
  ['30min', '2026-11-20T12:30:00.000Z'],
  ['2027-01-31', '2027-01-31T00:00:00.000Z'],
])('%s is the future time %s', ([text, expected]) => {
  expect(parseFutureTime(text)).toBe(expected)
})

describe('an invalid time', () => {
  test.for([
    '',
    '90',
    '-90d',
    '90 fortnights',
    '6M',
    '90D',
    '2 days',
    '500ms',
    '3mo',
    'tomorrow',
    '2026-02-30',
    '2026-13-01',
    '2026-1-1',
    '2026-01-31T25:00',
    '2026-01-31T09:30:00X',
    '12026-01-31',
    '9000y',
    '9999999y',
  ])('is %j', (text) => {
    expect(() => parsePastTime(text)).toThrow(
      /It must be a time in UTC such as .* or a duration such as 90d or 12h/,
    )
  })

  test.for(['6m', '6M', '6mo', '6 months'])(
    'for an expiry is %s, whose unit could be minutes or months',
    (text) => {
      expect(() => parseFutureTime(text)).toThrow(/such as 90d or 12h \(s, min, h, d, w, y\)\.$/)
    },
  )

  test.for(['0d', '2026-11-20', '2026-11-20T12:00:00Z', '2020-01-01'])(
    'in the future is %s',
    (text) => {
      expect(() => parseFutureTime(text)).toThrow('It must be in the future.')
    },
  )
})

test('ages, dates and minutes', () => {
  expect(
    ['2026-11-17T12:00:00.000Z', '2026-11-20T06:50:00.000Z', '2026-11-20T12:00:01.000Z'].map(
      formatAge,
    ),
  ).toEqual(['3d', '5h', '0ms'])
  expect(secondsSince('2026-11-20T11:58:58.900Z')).toBe(61)
  expect(formatMinute('2026-11-20T11:58:58.900Z')).toBe('2026-11-20 11:58')
})

test('elapsed seconds', () => {
  const wait = freezeMonotonicClock()
  const begin = performance.now()
  wait(61_234.9)
  expect(elapsedSeconds(begin)).toBe(61.23)
})
