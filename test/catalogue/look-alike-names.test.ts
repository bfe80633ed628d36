import { expect, test } from 'vitest'
import { findLookAlikes } from '../../src/catalogue/look-alikes.ts'
import type { Database } from '../../src/db/database.ts'
import { openWorld } from '../support/database.ts'
import { share } from '../support/lifetime.ts'
import { insertListed } from '../support/listed-apps.ts'

/** Which names are look-alikes of which. */

let database: Database
share(async () => {
  database = await openWorld()
})

/** The names of listed apps that a name is a look-alike of, if this app is listed, too. */
async function lookAlikeNames(listed: string, downloads: number, name: string): Promise<string[]> {
  const undone = new Error('rolled back')
  let found: { name: string }[] = []
  await database
    .write(async (runner) => {
      await insertListed(runner, [
        { name: listed, developer: 'Listed', total_downloads: downloads },
      ])
      found = (await findLookAlikes(runner, [{ name, developer_id: 1, status: 'pending' }])).flat()
      throw undone
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error
    })
  return found.map((app) => app.name)
}

/** Each is in another block of 128 code points. */
function ideographs(length: number): string {
  return Array.from({ length }, (_, index) => String.fromCodePoint(0x4e00 + 128 * index)).join('')
}

/** Too few for names at distance one. */
const unknownDownloads = 100

test.for<[difference: string, listed: string, name: string]>([
  ['a Latin e in Cyrillic', 'Яндекс Карты', 'Яндeкс Карты'],
  ['the same, the other way round', 'Яндeкс Карты', 'Яндекс Карты'],
  ['a Latin E in Cyrillic capitals', 'Яндекс Карты', 'ЯНДEКС КАРТЫ'],
  ['a Latin c in Cyrillic, without the space', 'Яндекс Карты', 'яндекcкарты'],
  ['a Cyrillic а in Latin', 'Bank', 'B\u0430nk'],
  ['a Cyrillic capital В in Latin', 'Bank', '\u0412ank'],
  ['a Cyrillic capital В in Latin capitals with an I', 'Bank of India', '\u0412ANK OF INDIA'],
  ['a Latin o in Greek', 'Κόσμος', 'Κόσμoς'],
  ['a Latin O in Greek capitals', 'Κόσμος', 'ΚOΣΜΟΣ'],
  ['a Greek capital Ν in Latin', 'Nova', '\u039Dova'],
  ['a Cyrillic о in Armenian', 'Օրացույց', '\u041Eրացույց'],
  ['a Hebrew ס in Latin', 'Photo', 'Ph\u05E1to'],
  ['nothing, in Thai', 'พยากรณ์อากาศ', 'พยากรณ์อากาศ'],
  ['nothing, in Japanese', '天気予報', '天気予報'],
  ['nothing, in Arabic', 'خرائط', 'خرائط'],
  ['nothing, in Cyrillic', 'Погода', 'Погода'],
  ['nothing, in Greek', 'Καιρός', 'Καιρός'],
  ['nothing, in Hangul', '날씨예보', '날씨예보'],
  ['nothing, in Devanagari', 'मौसम', 'मौसम'],
  ['Arabic vowels', 'خرائط', 'خَرائِط'],
  ['the katakana ニ for the character 二', '二十四', 'ニ十四'],
  ['half the width, in katakana', 'カメラ', 'ｶﾒﾗ'],
  ['vv for w', 'Wave', 'VVave'],
  ['w for vv', 'Savvy', 'Sawy'],
  ['rn for m', 'Mood', 'Rnood'],
  ['m for rn', 'Corner', 'Comer'],
  ['0 for O', 'Oslo', '0sl0'],
  ['O for 0', 'Route 20', 'Route 2O'],
  ['1 for l', 'Lilac', '1i1ac'],
  ['a capital I for l', 'Lilac', 'LiIac'],
  ['l for a capital I', 'Idea', 'ldea'],
  ['| for l', 'Lilac', 'Li|ac'],
  ['spaces', 'Go Map', '  G o\u00A0Map'],
  ['another dash', 'Go-Map', 'Go\u2013Map'],
  ['a hyphen', 'Go-Map', 'Go Map'],
  ['the emoji behind it', 'Cards ♠', 'Cards ♥'],
  ['an emoji of the other one', '512 Tiles 🎲', '512 Tiles'],
  ['symbols at the end', 'Wavechat', 'Wavechat++'],
  ['digits for letters', 'Telebook', 'T3leb00k'],
  ['a bar between two words', 'Tide | Clock', 'Tide Clock'],
  ['another apostrophe', "Bob's", 'Bob\u2019s'],
  ['an invisible character', 'Maps', 'Ma\u2060ps'],
  ['bold mathematical letters', 'Maps', '𝐌𝐚𝐩𝐬'],
  ['a Cyrillic а among 50 characters', 'a'.repeat(50), `${'a'.repeat(49)}\u0430`],
  ['a Cyrillic а among 51 characters', 'a'.repeat(51), `${'a'.repeat(50)}\u0430`],
])('a name is a look-alike of a little-known one that differs in %s', async ([, listed, name]) => {
  expect(await lookAlikeNames(listed, unknownDownloads, name)).toEqual([listed])
})

test.for<[difference: string, listed: string, name: string]>([
  ['a letter that looks otherwise', 'Яндекс Карты', 'Яндакс Карты'],
  ['a letter of Thai', 'พยากรณ์อากาศ', 'พยากรณ์อากาส'],
  ['a character of Japanese', '天気予報', '天気予告'],
  ['a letter of Arabic', 'خرائط', 'حرائط'],
  ['letters of the same place in another script', 'Vera', 'Вера'],
  ['a small i for l', 'Mall', 'Mail'],
  ['the order of letters', 'Corner', 'Cornre'],
  ['the number behind it', 'Route 20', 'Route 21'],
  ['one word more', 'Maps', 'Maps Go'],
  ['an edition', 'Notes & Lists', 'Notes & Lists Pro'],
])('a name is no look-alike of a little-known one that differs in %s', async ([, listed, name]) => {
  expect(await lookAlikeNames(listed, unknownDownloads, name)).toEqual([])
})

test.for<[length: number, found: boolean]>([
  [5, false],
  [6, true],
  [100, true],
])(
  'a name of %i characters with one letter replaced: a look-alike of a well-known one: %s',
  async ([length, found]) => {
    const listed = 'a'.repeat(length)
    expect(await lookAlikeNames(listed, 1e6, `${listed.slice(1)}b`)).toEqual(found ? [listed] : [])
  },
)

test.for<[difference: string, listed: string, name: string]>([
  ['a letter, and vv for w', 'Wavechat', 'VVavechatt'],
  ['rn for m', 'Mooncraft', 'Rnooncraftt'],
  ['0 for o', 'Tunefolio', 'Tunef0li0s'],
  ['1 for l', 'Reelflix', 'Ree1f1ixx'],
  ['| for l', 'Reelflix', 'Ree|f|ixx'],
  ['a Cyrillic С, and rn', 'Corner Shop', '\u0421\u043Erner Shopp'],
  ['nothing else, in Cyrillic', 'Яндекс Карты', 'Яндекс Карта'],
  ['case, in Cyrillic', 'Яндекс Карты', 'ЯНДЕКС КАРТА'],
  ['a letter within a syllable of Hangul', '각나다라마바', '간나다라마바'],
  ['60 ideographs', ideographs(60), `${ideographs(59)}中`],
  ['an edition', 'Notes & Lists', 'Notes & Lists Pro'],
])(
  'a name is a look-alike of only a well-known one that differs in %s',
  async ([, listed, name]) => {
    expect(await lookAlikeNames(listed, 1e6, name)).toEqual([listed])
    expect(await lookAlikeNames(listed, unknownDownloads, name)).toEqual([])
  },
)
