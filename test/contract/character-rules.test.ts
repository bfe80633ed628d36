import { expect, test } from 'vitest'
import { characterProblem } from '../../src/contract/character-rules.ts'

test.for<[rule: string, text: string, problem: string | undefined]>([
  ['text', 'a\u0000', 'must not have the character U+0000 (control character)'],
  ['text', 'a\r\n\tb', undefined],
  ['text', '\u202e', undefined],
  ['text', 'a\ud800', 'must not have the character U+D800 (half of a surrogate pair)'],
  ['prose', 'a\u202eb', 'must not have the character U+202E (right-to-left override)'],
  ['prose', '\u200b\n', 'must have a visible character'],
  ['line', '', undefined],
  ['line', 'a\u2028b', 'must not have the character U+2028 (line separator)'],
  ['name', '\u{e0041}', 'must not have the character U+E0041 (tag)'],
  ['name', ' a ', undefined],
  ['name', 'Sky\u00adline', 'must not have the character U+00AD (soft hyphen)'],
  ['name', 'a\u200b', 'must not have the character U+200B (zero width space)'],
  ['name', 'a\ufeff', 'must not have the character U+FEFF (zero width no-break space)'],
  ['name', 'a\u2065', 'must not have the character U+2065 (invisible character)'],
  ['version', ' a', 'must not begin or end with white space'],
])('x-characters: %s of %j: %s', ([rule, text, problem]) => {
  expect(characterProblem(rule, text)).toBe(problem)
})

test('each refused character is named', () => {
  const named = new Map<string, number>()
  for (let code = 0; code <= 0x10ffff; code++) {
    const text = String.fromCodePoint(code)
    const problems = ['name', 'line', 'prose'].flatMap(
      (rule) => characterProblem(rule, `a${text}b`) ?? [],
    )
    for (const problem of new Set(problems)) {
      if (!problem.includes('U+')) continue
      const [, number, name = ''] = /character U\+([0-9A-F]{4,6}) \((.+)\)$/.exec(problem) ?? []
      expect([number, name]).toEqual([
        code.toString(16).toUpperCase().padStart(4, '0'),
        expect.stringMatching(/^[a-z-]+(?: [a-z-]+)*$/),
      ])
      named.set(name, (named.get(name) ?? 0) + 1)
    }
  }
  expect(named.get('control character')).toBe(62)
  expect(named.get('half of a surrogate pair')).toBe(2048)
  expect(named.get('tag')).toBe(97)
})

test('an unknown value of x-characters is an error of ours', () => {
  expect(() => characterProblem('names', 'a')).toThrow('x-characters has the unknown value names')
})
