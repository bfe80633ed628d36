import { expect, test } from 'vitest'
import { wordForms } from '../../src/search/terms.ts'

test.for<[word: string, some: string[], none: string[]]>([
  ['recorders', ['recorder', 'record', 'recording'], ['recorders']],
  ['compasses', ['compass'], []],
  ['diaries', ['diary'], []],
  ['glass', ['glasses'], ['glas']],
  ['sharpening', ['sharpen', 'sharpener', 'sharpened', 'sharpens'], ['sharpening']],
  ['mapped', ['map', 'maps', 'mapper'], []],
  ['tuning', ['tune', 'tuner'], []],
  ['tune', ['tunes', 'tuning'], []],
  ['string', [], ['str']],
  ['forme', ['formes'], ['form']],
  ['danser', [], ['dans']],
])('other forms of %s are %o, and not %o', ([word, some, none]) => {
  const forms = wordForms(word)
  expect(forms).toEqual(expect.arrayContaining(some))
  expect(forms.filter((form) => none.includes(form))).toEqual([])
  expect(forms.length).toBeLessThanOrEqual(20)
})

test.for(['map', 'café', 'recorders2', 'рекордеры', '日本語辞書'])(
  '%s has no other forms',
  (word) => {
    expect(wordForms(word)).toEqual([])
  },
)
