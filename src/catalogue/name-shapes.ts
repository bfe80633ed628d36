import { fold, foldLookAlikes, isAscii } from '../search/terms.ts'
import { isWithinOneEdit } from '../search/typos.ts'

/** Compares names by what users see of them. similar-names.ts chooses the names. */

/** The visible shape of a name: its words, and their letters without spaces. */
export type NameShape = Readonly<{ letters: string; words: readonly string[] }>

/** Characters whose looks are remembered, at most: those of a few large scripts. */
const maxLooks = 20_000
const looks = new Map<string, string>()

const invisible = /\p{Default_Ignorable_Code_Point}+/gu
const symbols = /[^\p{L}\p{N}\p{M}|]+/gu

/** Characters. One is too little to tell C++ from C#. */
const minLetters = 2

/** Characters. Very many shorter names are at distance one of each other. */
const minEditedLength = 6

/** Characters. A shorter core is often an ordinary word, such as that of "Notes Pro". */
const minCoreLength = 6

/** "And" where it is a word by itself. */
const connectors = new Set('and n und et y e i и та og och en ve و और'.split(' '))

/** Words of editions and of promises, which a name has beside what it says about the app. */
const editions = new Set(
  `app apps official original real new the pro plus lite free premium hd vip gold deluxe full beta
   update updated latest mobile android
   приложение официальный официальное новый новая бесплатно про плюс лайт премиум
   oficial nuevo novo gratis officiel gratuit offiziell kostenlos ufficiale gratuito resmi
   官方 免费 公式 無料`
    .split(/\s+/)
    .map(wordsOf),
)

/**
 * The shapes of a name. Case changes what a letter looks like, so there are up to three: in lower
 * case, with each capital I as an l, and as written. Digits between letters may be letters, which
 * makes another one.
 */
export function shapesOf(name: string): NameShape[] {
  const text = splitCamelCase(isAscii(name) ? name : name.normalize('NFC'))
  const spellings = [text.toLowerCase()]
  if (text.includes('I')) spellings.push(text.replaceAll('I', 'l'))
  if (!isAscii(text) && text !== spellings[0]) spellings.push(text)
  if (/[a-z][34578@$]+[a-z]/i.test(text)) spellings.push(text.replace(signsInWord, withLetters))
  return spellings.map(shapeOf)
}

/** A capital begins a word within another. The test spares most names the replacement. */
const splitCamelCase = (name: string) =>
  /[a-z][A-Z]/.test(name) ? name.replace(/[a-z](?=[A-Z])/g, '$& ') : name

/** Digits and signs that stand for letters. 0 and 1 always look like letters. */
const signsInWord = /(?<=[a-z])[34578@$]+(?=[a-z])/gi
const letterOf: Record<string, string> = {
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  8: 'b',
  '@': 'a',
  $: 's',
}
const withLetters = (signs: string) => signs.replace(/./g, (sign) => letterOf[sign] ?? sign)

function shapeOf(text: string): NameShape {
  const words = wordsOf(text).split(' ')
  const letters = joinPairs(words.join(''))
  // Of C++ or an emoji, the symbols are the name.
  return { letters: letters.length < minLetters ? fold(text).replace(/\s+/g, '') : letters, words }
}

/** The letters of the words that say which app it is, without plurals and doubled letters. */
function coreOf({ words }: NameShape): string {
  let end = words.length
  while (end > 1 && editions.has(words[end - 1] ?? '')) end--
  let start = 0
  while (start < end - 1 && editions.has(words[start] ?? '')) start++
  let core = ''
  for (let at = start; at < end; at++) {
    const word = words[at] ?? ''
    if (at > start && at < end - 1 && connectors.has(word)) continue
    core += word.length > 3 && word.endsWith('s') ? word.slice(0, -1) : word
  }
  return joinPairs(core).replace(/(\D)\1+/g, '$1')
}

/** The words of a text, with a space between two, as the letters that they look like. */
function wordsOf(text: string): string {
  const words = isAscii(text)
    ? text
        .toLowerCase()
        .replace(/[^a-z0-9|]+/g, ' ')
        .trim()
    : looksOf(text)
  return /[01|]/.test(words) ? withoutZeros(words) : words
}

function looksOf(text: string): string {
  let looks = ''
  let last = ' '
  for (const character of text) {
    const look = lookOf(character)
    if (look === '' || (look === ' ' && last === ' ')) continue
    looks += look
    last = look
  }
  return looks.trimEnd()
}

/** With letters for what looks like one, except in numbers. */
const withoutZeros = (words: string) =>
  words
    .split(' ')
    .map((word) => (/\p{L}/u.test(word) ? word.replaceAll('0', 'o').replace(/[1|]/g, 'l') : word))
    .filter((word) => word !== '|')
    .join(' ')

/** Two letters that look like one. */
const joinPairs = (letters: string) =>
  /rn|vv/.test(letters) ? letters.replaceAll('rn', 'm').replaceAll('vv', 'w') : letters

/** The letter that a character looks like; a space for a symbol, nothing if it is invisible. */
function lookOf(character: string): string {
  const known = looks.get(character)
  if (known !== undefined) return known
  // More letters than characters would be more than one edit.
  const look = foldLookAlikes(character)
  const letters = look.length > character.length ? fold(character) : look
  const clean = letters.replace(invisible, '').replace(symbols, ' ')
  if (looks.size >= maxLooks) looks.clear()
  looks.set(character, clean)
  return clean
}

/**
 * Finds which of the added names look like another one, without comparing it with each. The values
 * stand for the names.
 */
export class NameMatcher<Value> {
  readonly #byLetters = new Map<string, Value[]>()
  readonly #byCore = new Map<string, Value[]>()
  readonly #byEnd = new Map<number, Spelled<Value>[]>()

  add(value: Value, shapes: NameShape[]) {
    for (const shape of shapes) {
      const { letters } = shape
      const core = coreOf(shape)
      push(this.#byLetters, letters, value)
      if (core.length >= minCoreLength) push(this.#byCore, core, value)
      if (letters.length >= minEditedLength)
        for (const end of [startOf(letters), endOf(letters)])
          push(this.#byEnd, end, { letters, value })
    }
  }

  /** Those with the same letters. */
  sameAs(shapes: NameShape[]): Set<Value> {
    const found = new Set<Value>()
    for (const { letters } of shapes) addAll(found, this.#byLetters.get(letters))
    return found
  }

  /** Those with the same letters or core, or with letters at distance one. */
  similarTo(shapes: NameShape[]): Set<Value> {
    const found = this.sameAs(shapes)
    for (const shape of shapes) {
      addAll(found, this.#byCore.get(coreOf(shape)))
      this.#addEdited(found, shape.letters, this.#byEnd.get(startOf(shape.letters)))
      this.#addEdited(found, shape.letters, this.#byEnd.get(endOf(shape.letters)))
    }
    return found
  }

  #addEdited(found: Set<Value>, letters: string, others: Spelled<Value>[] | undefined) {
    if (others === undefined) return
    for (const other of others)
      if (!found.has(other.value) && isWithinOneEdit(other.letters, letters)) found.add(other.value)
  }
}

type Spelled<Value> = Readonly<{ letters: string; value: Value }>

/**
 * Numbers for the first and for the last two characters. Of names at distance one that are long
 * enough, one of these is equal.
 */
const startOf = (letters: string) => letters.charCodeAt(0) * 65_536 + letters.charCodeAt(1)
const endOf = (letters: string) =>
  -letters.charCodeAt(letters.length - 2) * 65_536 - letters.charCodeAt(letters.length - 1)

function addAll<Value>(found: Set<Value>, values: Value[] | undefined) {
  if (values !== undefined) for (const value of values) found.add(value)
}

function push<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value) {
  const values = map.get(key)
  if (values) values.push(value)
  else map.set(key, [value])
}
