import { expect, test } from 'vitest'
import { nameFrom } from '../src/names.ts'

test.for<[text: string, name: string]>([
  ['A', 'A'],
  [' Harbour  Software\n', 'Harbour  Software'],
  [` ${'𠮷'.repeat(100)} `, '𠮷'.repeat(100)],
])('%j names something', ([text, name]) => {
  expect(nameFrom(text, 'a name')).toBe(name)
})

test.for(['', ' \n', 'x'.repeat(101), 'A\nB', 'A\tB', 'A\u0085B', 'A\u2028B', 'A\u2029B', 'A\ud83d'])(
  '%j names nothing',
  (text) => {
    expect(() => nameFrom(text, 'a name')).toThrow('a name is 1 to 100 characters on one line')
  },
)
