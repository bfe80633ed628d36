import { expect, test } from 'vitest'
import catalogue from '../seeds/demo-catalogue.json' with { type: 'json' }
import { readLine } from '../src/import-export/line.ts'

test('the demo catalogue could be imported', () => {
  const problems = catalogue.apps.flatMap((app) => {
    const { outcome } = readLine(JSON.stringify(app))
    return outcome === undefined ? [] : [{ name: app.name, outcome }]
  })
  expect(problems).toEqual([])
})

test('nothing in the demo catalogue is newer than its last approval', () => {
  const approvals = catalogue.apps.map(({ approved_at = '' }) => approved_at)
  const times = JSON.stringify(catalogue).match(/\d{4}-\d\d-\d\dT[\d:.]+Z/g) ?? []
  expect(times.length).toBeGreaterThan(catalogue.apps.length)
  expect(times.toSorted().at(-1)).toBe(approvals.toSorted().at(-1))
})
