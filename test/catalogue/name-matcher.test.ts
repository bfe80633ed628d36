import unhomoglyph from 'unhomoglyph'
import { expect, test } from 'vitest'
import { NameMatcher } from '../../src/catalogue/name-matcher.ts'
import { looksOf } from '../../src/search/fold.ts'

/** Whether a name matches that of a popular app, as in look-alikes.ts. */
function isMatch(popular: string, name: string): boolean {
  const matcher = new NameMatcher<string>()
  matcher.add(name, looksOf(name))
  return matcher.findMatches(looksOf(popular)).size > 0
}

test('each letter and digit of ASCII that looks like another has its look', () => {
  const characters = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz|']
  const lookAlikes = characters.filter((character) => unhomoglyph(character) !== character)
  expect(lookAlikes).toEqual([...'01Im|'])
  for (const character of lookAlikes)
    expect(looksOf(`aa${character}`)).toContain(looksOf(`aa${unhomoglyph(character)}`)[0])
})

test.for<[row: string, popular: string, imitations: string[]]>([
  [
    'an emoji of the original',
    '512 Tiles 🎲',
    ['512 Tiles', '5l2 Tiles', '512 Ti1es', '512 Tile', '512 Tilles'],
  ],
  ['an emoji before it', '🎲 Tiles', ['Tiles', '🔥Tiles', 'Ti1es']],
  [
    'symbols of the original',
    'VideoTune®',
    ['VideoTune', 'Video Tune', 'VideoTunes', '~VideoTune~'],
  ],
  ['brackets', '[Tide] Clock', ['Tide Clock', 'Tide (Clock)']],
  ['an exclamation mark', 'Go!', ['Go', 'GO']],
  ['an emoji and a foreign letter', '512 Tiles 🎲', ['512 T\u0456les', '512 \u0422iles']],
  ['an emoji in another script', 'Погода дня 🌤', ['Погода дня', 'Пoгoдa дня', 'ПОГОДА ДНЯ']],
  ['an emoji, in Japanese', '天気予報☀', ['天気予報', '【天気予報】']],
  ['symbols instead of others', 'Notes & Lists', ['Notes + Lists', 'Notes Lists', 'Notes-Lists']],
  [
    'an edition',
    'Notes & Lists',
    [
      'Notes & Lists Pro',
      'Notes & Lists Plus',
      'Notes & Lists - Lite',
      'Notes & Lists (Free)',
      'Notes & Lists HD',
      'Notes & Lists App',
      'Notes & Lists Premium Free',
      'NOTES & LISTS PRO',
    ],
  ],
  ['an edition joined to the name', 'WaveChat', ['WaveChatPro', 'WaveChat+', 'Wave Chat Plus']],
  [
    'a promise before and an edition behind the original',
    'The Notes & Lists Pro',
    ['Notes & Lists'],
  ],
  [
    'a promise before the name',
    'Notes & Lists',
    [
      'Official Notes & Lists',
      'The Notes & Lists',
      'New Notes & Lists',
      'The Original Notes & Lists',
    ],
  ],
  [
    'an edition of the original',
    'Friendbook Lite',
    ['Friendbook', 'Friendbook Pro', 'Friendbook Official'],
  ],
  [
    'repeated spaces, or none',
    'Berry Blast Saga',
    ['BerryBlastSaga', 'Berry  Blast   Saga', 'Berry Blast\u00A0Saga'],
  ],
  [
    'hyphens, underscores and dots',
    'Berry Blast Saga',
    ['Berry-Blast-Saga', 'Berry_Blast_Saga', 'Berry.Blast.Saga', 'Berry\u2013Blast Saga'],
  ],
  ['a plural', 'Berry Blast Saga', ['Berry Blast Sagas', 'Berry Blasts Saga']],
  ['a doubled letter', 'Berry Blast Saga', ['Bery Blast Saga', 'Berrry Blast Saga']],
  ['digits for letters', 'Telebook', ['T3l3b00k', 'Te1eb00k', 'Teleb0ok', 'Tel3book']],
  ['signs for letters', 'Cashbase', ['C@$hba$e', 'Ca$hbase']],
  ['Cyrillic letters', 'Islandgram', ['Isl\u0430ndgr\u0430m', 'I\u0455l\u0430ndgram']],
  ['Greek letters', 'Tone Vox', ['T\u03BFne V\u03BFx', '\u03A4one Vox']],
  [
    'Cyrillic letters, an edition',
    'Friendbook',
    ['Friendb\u043E\u043Ek Pro', 'Fri\u0435ndbook Lite'],
  ],
  ['a capital I for l', 'CoinPal 💰', ['CoinPaI', 'CoinPaI Pro']],
  ['rn for m, vv for w', 'Waterman ⚡', ['VVaterrnan', 'Waterrnan']],
  ['Greek capitals, an emoji', 'NOVA SUITE 🌟', ['\u039DOV\u0391 SU\u0399\u03A4\u0395']],
  ['invisible characters', 'WaveChat', ['Wave\u200BChat', 'Wa\u00ADveChat', 'WaveC\u2060hat']],
  ['styled letters', 'WaveChat ✔', ['𝐖𝐚𝐯𝐞𝐂𝐡𝐚𝐭', 'ＷａｖｅＣｈａｔ']],
  ['accents', 'Kérimon GO', ['Kerimon Go', 'Kèrimön Go']],
  [
    'a letter added, omitted, replaced or swapped',
    'WaveChat',
    ['WaveChatt', 'WavChat', 'WaveChot', 'WaevChat'],
  ],
  ['two letters swapped in the middle of six', 'Tunely', ['Tuenly']],
])('imitations are found that differ in %s', ([, popular, imitations]) => {
  expect(imitations.filter((name) => !isMatch(popular, name))).toEqual([])
})

test.for<[row: string, why: string, popular: string, imitation: string]>([
  ['the order of words', 'it looks different', 'Berry Blast Saga', 'Blast Berry Saga'],
  ['an edition and a typo', 'marks honest names', 'WaveChat', 'WavChat Pro'],
  ['and for &', 'a word like others', 'Notes & Lists', 'Notes and Lists'],
  ['an edition in another language', 'no list has all', 'Friendbook', 'Friendbook Gratis'],
  ['two plurals', 'marks honest names', 'Berry Blast Saga', 'Berrys Blasts Saga'],
  ['an edition of a short name', 'often an ordinary word', 'Notes', 'Notes Pro'],
  ['another word', 'marks honest names', 'WaveChat', 'WaveChat Video'],
  ['two letters', 'marks honest names', 'WaveChat', 'WavoChut'],
  ['a translation', 'it looks different', 'Notes & Lists', 'Notizen und Listen'],
])('an imitation is not found that differs in %s: %s', ([, , popular, imitation]) => {
  expect(isMatch(popular, imitation)).toBe(false)
})

test.for<[popular: string, name: string]>([
  ['Notes', 'Votes'],
  ['Notes & Lists', 'Notes & Tasks'],
  ['Notes & Lists', 'Lists & Friends'],
  ['Photo Editor', 'Photo Editor Collage'],
  ['Photo Editor Pro', 'Video Editor Pro'],
  ['Weather', 'Weather Radar'],
  ['Weather', 'My Weather Diary'],
  ['Calendar', 'My Calendar'],
  ['Radio Plus', 'Audio Plus'],
  ['Free Music', 'Free Movies'],
  ['Mail', 'Mall'],
  ['Pro Tools', 'Free Tools'],
  ['The App', 'My App'],
  ['HD Camera', 'HD Cinema'],
  ['C++', 'C#'],
  ['C', 'C++'],
  ['A+', 'A-'],
  ['Maps', 'Maps Go'],
  ['Level 100', 'Level 1'],
  ['512 Tiles 🎲', '1024 Tiles 🎲'],
  ['Chess 3D', 'Chess 2'],
  ['Tide Table', 'Tide Clock'],
  ['Star Walk', 'Star Talk Live'],
  ['Rock and Roll Radio', 'Rock or Roll Radio Live'],
  ['Погода', 'Подвода'],
  ['Погода про', 'Природа про'],
  ['天気', '天'],
  ['天気予報', '天気地図'],
  ['カメラ', 'カメラマン手帳'],
  ['खबर', 'खेल'],
  ['🎲', '🔥'],
  ['Day One', 'Day Two'],
  ['Morgen', 'Und morgen'],
  ['Bus & Train', 'Bus & Tram Times'],
  ['Plan B', 'Plan A'],
  ['Official Lottery', 'Official Library'],
])('%s and %s are names of different apps', ([popular, name]) => {
  expect(isMatch(popular, name)).toBe(false)
  expect(isMatch(name, popular)).toBe(false)
})
