import { expect, test } from 'vitest'
import { toSearchDocument } from '../../src/search/terms.ts'
import { findPage, fullMatchesOn, openListed } from '../support/listed-apps.ts'

/** English words with other endings than those of a search. */

test.for<[search: string, found: string[], not: string[]]>([
  ['recorders', ['Recorder', 'Record', 'Recording'], []],
  ['compasses', ['Compass'], []],
  ['diaries', ['Diary'], []],
  ['glass', ['Glasses'], ['Glas']],
  ['sharpening', ['Sharpen', 'Sharpener', 'Sharpened'], []],
  ['mapped', ['Map', 'Maps', 'Mapping'], []],
  ['tuning', ['Tune', 'Tunes', 'Tuned'], []],
  ['compressing', ['Compression', 'Compressed'], []],
  ['translate', ['Translator', 'Translation'], []],
  ['string', [], ['Str']],
  ['noted', ['Note'], ['Not']],
  ['danser', [], ['Dans']],
  ['used', [], ['US']],
  ['карты', [], ['картой']],
])('%s finds %o, and not %o', async ([search, found, not]) => {
  const database = await openListed([...found, ...not].map((name) => ({ name })))
  const names = fullMatchesOn(await findPage(database, { search }))
  expect(names.toSorted()).toEqual(found.toSorted())
})

test('a name has each stem that is none of its words; a lead has stems only', () => {
  const description = `${'x '.repeat(200)}Mapping maps. Map.`
  const { tokens } = toSearchDocument({ name: 'Noted Map', description }, 'Tuning Ltd')
  expect(tokens.split(' ').filter((token) => /_|^@(?!x)/.test(token))).toEqual([
    '~_note',
    '@note',
    '@map',
    '@tune',
    '@ltd',
  ])
})
