import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { addDemoCatalogue } from '../../seeds/demo-catalogue.ts'
import { findAppPage } from '../../src/catalogue/app-list.ts'
import type { AppSummary } from '../../src/contract/contract.ts'
import type { Database } from '../../src/db/database.ts'
import { nameKey } from '../../src/search/fold.ts'
import { queryTerms } from '../../src/search/terms.ts'
import { playSampleLines } from '../play-sample-lines.ts'
import { importLines } from '../support/catalogue-file.ts'
import { openEmptyCatalogue } from '../support/database.ts'

/**
 * What must come first, by what is searched for, in the demo catalogue: names in their order. Two
 * apps are named Compass.
 */
const queries: Record<string, [search: string, ...first: string[]][]> = {
  names: [
    ['compass', 'Compass', 'Compass'],
    ['Lighthouse Keeper', 'Lighthouse Keeper'],
    ['unit swap', 'Unit Swap'],
    ['SHARED TEAPOT', 'Shared Teapot'],
    ['a plain metronome', 'A Plain Metronome'],
    ['lantern', 'Lantern', 'Lantern+'],
    ['rainfall', 'Rainfall', 'Rainfall Radar', 'Rainfalls of the World', 'Umbrella Day'],
    ['rainfall radar', 'Rainfall Radar', 'Umbrella Day'],
    ['radar rainfall', 'Rainfall Radar', 'Umbrella Day'],
    ['open-shelf', 'Open-Shelf'],
    ['c primer', 'C Primer'],
    ['dog-eared', 'Dog-Eared'],
    ['hum it down', 'Hum It Down'],
    ['note by note', 'Note by Note'],
    ['tea timer', 'Tea Timer ☕'],
    ['512 tiles', '512 Tiles 🎲'],
    ['conta de padaria', 'Conta de Padaria'],
    ['planner', 'Terrace Planner', 'K-12 Planner'],
    ['mapper', 'Mind Mapper', 'TrailMapper'],
    ['notebook', 'Night Sky Notebook', 'Notes & Lists'],
    ['timer', 'Tea Timer ☕', 'Crème Brûlée Timer'],
    ['atlas', 'Ski+Bike Atlas', 'Żółty kapelusz: atlas grzybów', 'Smørrebrød Atlas'],
    ['pipe', 'Pipe Organ Practice', 'BluePipe'],
    ['garden', 'Git Garden'],
  ],
  'beginnings of words': [
    ['rainf', 'Rainfall Radar', 'Rainfalls of the World', 'Rainfall', 'Umbrella Day'],
    ['light', 'Lighthouse Keeper'],
    ['metro', 'A Plain Metronome'],
    ['herb', 'Pocket Herbarium'],
    ['git', 'Git Garden', "Gitta's Recipes", 'Terrace Planner'],
    ['note', 'Notes & Lists', 'Note by Note', 'Night Sky Notebook'],
    ['c', 'C Primer', 'Compass'],
    ['trav', 'Two-Bag Traveller'],
    ['photo ed', 'Photo Editor for Two'],
    ['sha tea', 'Shared Teapot'],
    ['24-h', '24-Hour Bakery'],
    ['cross', 'Café Crossword'],
    ['tid', 'Tide & Time'],
    ['dark dra', 'Darkroom Drawer'],
    ['haush', 'Haushaltsbuch für Zwei'],
    ['magaz', "Editor's Desk"],
  ],
  'joined and split': [
    ['openshelf', 'Open-Shelf', 'Shelf Mirror'],
    ['open shelf', 'Open-Shelf', 'Shelf Mirror'],
    ['wifi', 'Wi-Fi Gauge', 'WiFi Postcards'],
    ['wi-fi', 'Wi-Fi Gauge', 'WiFi Postcards'],
    ['wi fi', 'Wi-Fi Gauge', 'WiFi Postcards'],
    ['wifi gauge', 'Wi-Fi Gauge'],
    ['WiFi-Postcards', 'WiFi Postcards'],
    ['bluepipe', 'BluePipe'],
    ['blue pipe', 'BluePipe', 'Pipe Organ Practice'],
    ['blue-pipe', 'BluePipe', 'Pipe Organ Practice'],
    ['photoeditor', 'Photo Editor for Two'],
    ['photo-editor', 'Photo Editor for Two', "Editor's Desk"],
    ['trail mapper', 'TrailMapper'],
    ['trailmapper', 'TrailMapper'],
    ['mindmapper', 'Mind Mapper'],
    ['dogeared', 'Dog-Eared'],
    ['dog eared', 'Dog-Eared'],
    ['k12', 'K-12 Planner'],
    ['k 12 planner', 'K-12 Planner'],
    ['eticket', 'e-Ticket Wallet'],
    ['e ticket', 'e-Ticket Wallet'],
    ['tshirt', 'T-Shirt Sizer'],
    ['t shirt sizer', 'T-Shirt Sizer'],
    ['twobag', 'Two-Bag Traveller'],
    ['unitswap', 'Unit Swap'],
    ['pdf binder', 'PDFBinder'],
    ['pdf', 'PDFBinder'],
    ['dotmatrix', 'Dot.Matrix Clock'],
    ['snake case', 'snake_case Trainer'],
    ['snakecase', 'snake_case Trainer'],
    ['camel case', 'snake_case Trainer'],
    ['skibike', 'Ski+Bike Atlas'],
    ['rock n roll', "Rock'n'Roll Trivia"],
    ['rocknroll', "Rock'n'Roll Trivia"],
    ['dont', "Don't Forget the Milk Jug"],
    ['milkjug', "Don't Forget the Milk Jug"],
    ['hum itdown', 'Hum It Down'],
    ['humitdown', 'Hum It Down'],
    ['24hour', '24-Hour Bakery'],
    ['night skynotebook', 'Night Sky Notebook'],
  ],
  packages: [
    ['org.example.openshelf.shelf', 'Open-Shelf', 'Shelf Mirror'],
    ['ORG.Example.OpenShelf.Shelf', 'Open-Shelf', 'Shelf Mirror'],
    ['com.example.nineherons.compass', 'Compass'],
    ['org.example.quietlantern.compass', 'Compass'],
    ['org.example.quietlantern.torch', 'Lantern', 'Lantern+'],
    ['com.example.demo.mirror', 'Shelf Mirror'],
    ['org.example.lindwurm.cpp-crib', 'C++ Crib Sheet'],
    ['org.example.quietlantern.hum_it_down', 'Hum It Down'],
    ['cpp-crib', 'C++ Crib Sheet'],
    ['cppcrib', 'C++ Crib Sheet'],
    ['gitfolk', "Gitta's Recipes", 'Terrace Planner'],
    ['tiles512', '512 Tiles 🎲'],
    ['jp.example.mametsubu', '日本語辞書', '乗換カレンダー'],
    ['org.gitfolk.example.terrace', 'Terrace Planner'],
    ['torchplus', 'Lantern+'],
  ],
  'developer and name': [
    ['nine herons compass', 'Compass'],
    ['quiet lantern compass', 'Compass'],
    ['compass quiet lantern', 'Compass'],
    ['lindwurm chess', 'Шахматный дворик'],
    ['brindille crossword', 'Café Crossword'],
    ['demo developer garden', 'Git Garden'],
    ['tamarisk planner', 'Terrace Planner'],
    ['まめつぶ 辞書', '日本語辞書'],
    ['lindwurm und tochter', 'Haushaltsbuch für Zwei'],
    ['Lindwurm & Töchter atlas', 'Żółty kapelusz: atlas grzybów', 'Ski+Bike Atlas'],
    ['nine herons software rainfall', 'Rainfall Radar', 'Rainfall'],
    ['quiet lantern cooperative stair', 'Stair by Stair'],
  ],
  punctuation: [
    ['c++', 'C++ Crib Sheet'],
    ['C++ crib', 'C++ Crib Sheet'],
    ['c#', 'C# Study Cards'],
    ['C#, study!', 'C# Study Cards'],
    ['lantern+', 'Lantern+'],
    ['r&b', 'R&B Radio Hour'],
    ['rb radio', 'R&B Radio Hour'],
    ['R & B', 'R&B Radio Hour'],
    ["don't forget", "Don't Forget the Milk Jug"],
    ['don’t forget', "Don't Forget the Milk Jug"],
    ["editor's desk", "Editor's Desk"],
    ['editors desk', "Editor's Desk"],
    ['gittas recipes', "Gitta's Recipes"],
    ['notes & lists', 'Notes & Lists'],
    ['notes and lists', 'Notes & Lists'],
    ['"ebb" (flood)*', 'Ebb & Flood'],
    ['tide/time', 'Tide & Time'],
    ['snake_case', 'snake_case Trainer'],
    ['ski+bike', 'Ski+Bike Atlas'],
    ['dot.matrix', 'Dot.Matrix Clock'],
    ['k-12', 'K-12 Planner'],
    ['quiet lantern: compass', 'Compass'],
    ['🎲', '512 Tiles 🎲', 'Dice for Everyone'],
    ['☕', 'Tea Timer ☕'],
    ['☕️', 'Tea Timer ☕'],
    ['🐈 diary', 'Cat Diary 🐈'],
    ['🇧🇷', 'Flag Quiz 🇯🇵🇧🇷'],
    ['tea ☕', 'Tea Timer ☕'],
    ['🥚', 'Œuf à la coque 🥚'],
  ],
  'eight scripts': [
    ['œuf à la coque', 'Œuf à la coque 🥚'],
    ['oeuf coque', 'Œuf à la coque 🥚'],
    ['creme brulee', 'Crème Brûlée Timer'],
    ['smorrebrod', 'Smørrebrød Atlas'],
    ['zolty kapelusz', 'Żółty kapelusz: atlas grzybów'],
    ['ISIK OLCER', 'Işık Ölçer'],
    ['so tay chay bo', 'Sổ tay Chạy bộ'],
    ['nandu', 'Ñandú, el juego de palabras'],
    ['радио', 'Радио Волна', 'Музыкальная шкатулка'],
    ['шахматный дворик', 'Шахматный дворик'],
    ['МУЗЫКАЛЬНАЯ', 'Музыкальная шкатулка'],
    ['ραδιοφωνο', 'Ραδιόφωνο του νησιού'],
    ['ΘΑΛΑΣΣΑ', 'Θάλασσα και καιρός'],
    ['καιρος', 'Θάλασσα και καιρός'],
    ['ημερολόγιο ελαιώνα', 'Ημερολόγιο Ελαιώνα'],
    ['موسيقى', 'موسيقى الشرق', 'عازف العود'],
    ['عود', 'عازف العود'],
    ['شرق', 'موسيقى الشرق'],
    ['كتاب', 'كتاب السفر'],
    ['الخطاط', 'دفتر الخطّاط'],
    ['מתכונים', 'ספר המתכונים'],
    ['לוח', 'לוח המקרר', 'לוח גאות'],
    ['לוח גאות', 'לוח גאות'],
    ['मौसम', 'मौसम डायरी'],
    ['संगीत', 'संगीत शाला', 'रागमाला अभ्यास'],
    ['रागमाला अभ्यास', 'रागमाला अभ्यास'],
    ['계산기', '계산기 노트'],
    ['받아쓰기', '받아쓰기 교실'],
    ['계산기노트', '계산기 노트'],
    ['天気', '天気ノート', '乗換カレンダー'],
    ['ノート', '天気ノート'],
    ['辞書', '日本語辞書'],
    ['字', '汉字手帖'],
    ['汉字', '汉字手帖'],
    ['成语', '巷口成语茶馆'],
    ['ｶﾚﾝﾀﾞｰ', '乗換カレンダー'],
    ['รถไฟ', 'ตารางรถไฟ'],
    ['สมุดออม', 'สมุดออมวันละนิด'],
  ],
  typos: [
    ['compsas', 'Compass', 'Compass'],
    ['comapss', 'Compass', 'Compass'],
    ['lighthuose keeper', 'Lighthouse Keeper'],
    ['metronone', 'A Plain Metronome'],
    ['herbariun', 'Pocket Herbarium'],
    ['raimfall', 'Rainfall', 'Rainfall Radar'],
    ['crosswrod cafe', 'Café Crossword'],
    ['umbrela day', 'Umbrella Day'],
    ['shared teapto', 'Shared Teapot'],
    ['hausahltsbuch', 'Haushaltsbuch für Zwei'],
    ['bluepiep', 'BluePipe'],
    ['bakrey', '24-Hour Bakery'],
    ['kapelsz', 'Żółty kapelusz: atlas grzybów'],
    ['mettronome', 'A Plain Metronome'],
    ['openshef', 'Open-Shelf'],
    ['шахмтный', 'Шахматный дворик'],
    ['шкатулкка', 'Музыкальная шкатулка'],
    ['ραδιοφωνω', 'Ραδιόφωνο του νησιού'],
    ['موسيقا', 'موسيقى الشرق'],
    ['מתכונין', 'ספר המתכונים'],
    ['रागमला', 'रागमाला अभ्यास'],
    ['밭아쓰기', '받아쓰기 교실'],
    ['recieps gitta', "Gitta's Recipes"],
    ['tarveller', 'Two-Bag Traveller'],
  ],
}

describe('in the demo catalogue', () => {
  test.for(Object.entries(queries))('what must come first does: %s', async ([, cases]) => {
    const database = await openEmptyCatalogue()
    await database.write(addDemoCatalogue)
    const wrong: object[] = []
    for (const [search, ...first] of cases) {
      const { apps } = await firstPage(database, search)
      const names = apps.slice(0, first.length).map(({ name }) => name)
      if (names.join('\n') !== first.join('\n')) wrong.push({ search, first, names })
    }
    expect(wrong).toEqual([])
  })

  test('there are 150 queries or more', () => {
    expect(Object.values(queries).flat().length).toBeGreaterThanOrEqual(150)
  })
})

const folder = process.env.PLAY_SAMPLE ?? ''

type Listing = { appId: string; title: string }

/**
 * Makes searches of an app by rule; `isRight` says of the names and package names found, best
 * first, whether they are what must be.
 */
type Rule = {
  searches: (listing: Listing, wordCounts: Map<string, number>) => string[]
  isRight: (found: Listing[], listing: Listing, isForgiven: boolean) => boolean
}

const isFirst = (found: Listing[], { title }: Listing) =>
  found[0] !== undefined && nameKey(found[0].title) === nameKey(title)
const isFound = (found: Listing[], { appId }: Listing) => found.some((one) => one.appId === appId)
const short = (text: string) => [...text].length <= 100
/** Without emoji and what is written without spaces. */
const wordsOf = (text: string) =>
  queryTerms(text).flatMap(({ text, isPrefix }) => (isPrefix ? text : []))

const rules: Record<string, Rule> = {
  'its name first': { searches: ({ title }) => [title].filter(short), isRight: isFirst },
  'its package name first': {
    searches: ({ appId }) => [appId, appId.toUpperCase()].filter(short),
    isRight: ([first], { appId }) => first?.appId === appId,
  },
  'the words of its name in another order': {
    searches: ({ title }) =>
      [wordsOf(title).toReversed().join(' ')].filter((text) => text !== '' && short(text)),
    isRight: isFound,
  },
  'the beginnings of its words': {
    searches: ({ title }) =>
      [
        wordsOf(title)
          .map((word) => [...word].slice(0, 4).join(''))
          .join(' '),
      ].filter((text) => text !== ''),
    isRight: isFound,
  },
  'two words of its name as one': {
    searches: ({ title }) =>
      title.split(/[^\p{L}\p{M}\p{N}]+/u).flatMap((word, index, all) => {
        const pair = [word, all[index + 1] ?? '']
        return pair.every((one) => wordsOf(one).length === 1) && !/^\d+$/.test(pair.join(''))
          ? [pair.join('')]
          : []
      }),
    isRight: isFound,
  },
  'a word that it alone has, with a letter less': {
    searches: ({ title }, wordCounts) =>
      wordsOf(title)
        .filter((word) => [...word].length >= 6 && wordCounts.get(word) === 1)
        .map((word) => word.slice(0, 3) + word.slice(4)),
    // Where others have what the slip made, it is no slip.
    isRight: (found, listing, isForgiven) =>
      found.length > 0 && (!isForgiven || isFound(found, listing)),
  },
}

describe.skipIf(!existsSync(`${folder}/apps.json`))(
  'of real listings (skipped without PLAY_SAMPLE)',
  () => {
    test.for(Object.entries(rules))(
      'a search finds %s',
      { timeout: 300_000 },
      async ([, { searches, isRight }]) => {
        const listings: Listing[] = JSON.parse(readFileSync(`${folder}/apps.json`, 'utf8'))
        const database = await openEmptyCatalogue()
        await importLines(database, playSampleLines(folder))
        const rows = await database.read(({ sql }) =>
          sql('apps').select('id', 'name', 'package_name'),
        )
        const taken = new Map(
          rows.map(({ id, name, package_name }) => [
            id,
            { title: name, appId: package_name ?? '' },
          ]),
        )
        const words = listings.flatMap(({ title }) => wordsOf(title))
        const wordCounts = new Map(
          [...Map.groupBy(words, (word) => word)].map(([word, { length }]) => [word, length]),
        )
        const all = [...taken.values()].flatMap((listing) =>
          searches(listing, wordCounts).map((search) => ({ listing, search })),
        )
        expect(all.length).toBeGreaterThan(50)
        const wrong: object[] = []
        for (const { listing, search } of all) {
          const { apps, notes } = await firstPage(database, search)
          const found = apps.flatMap(({ id }) => taken.get(id) ?? [])
          if (!isRight(found, listing, notes?.length !== 0))
            wrong.push({ search, listing, found: found.slice(0, 3) })
        }
        expect(wrong, `of ${all.length} searches`).toEqual([])
      },
    )
  },
)

async function firstPage(
  database: Database,
  search: string,
): Promise<{ apps: AppSummary[]; notes?: string[] }> {
  const { apps, notes } = await findAppPage(database, { page: 1, limit: 100, search })
  return { apps, ...(notes && { notes }) }
}
