import { isWithinEdits } from '../search/typos.ts'

/** Compares the looks of names. look-alikes.ts chooses the names. */

/**
 * Characters. Very many shorter names are at distance one of each other, and without an edition
 * often an ordinary word, such as that of "Notes Pro".
 */
const minLength = 6

/** Up to three words that a name has beside what it says about the app, if six letters are left. */
const editionsBefore =
  /^(?:apps?|official|original|real|new|the|pro|plus|lite|free|premium|hd|vip|gold|deluxe|full|beta|updated?|latest|mobile|android){1,3}(?=.{6})/u
const editionsBehind =
  /(?<=.{6})(?:apps?|official|original|real|new|the|pro|plus|lite|free|premium|hd|vip|gold|deluxe|full|beta|updated?|latest|mobile|android){1,3}$/u

const withoutEditions = (look: string) =>
  look.replace(editionsBefore, '').replace(editionsBehind, '')

/**
 * Finds which of the added names match another one, without comparing it with each. The values
 * stand for the names.
 */
export class NameMatcher<Value> {
  readonly #byName = new Map<string, Value[]>()
  readonly #byEnd = new Map<string, { look: string; value: Value }[]>()

  add(value: Value, looks: readonly string[]) {
    for (const look of looks) {
      push(this.#byName, withoutEditions(look), value)
      if (look.length >= minLength)
        for (const end of endsOf(look)) push(this.#byEnd, end, { look, value })
    }
  }

  /**
   * Those whose looks are equal but for editions, or at distance one: one character added, removed
   * or replaced, or two adjacent ones swapped.
   */
  findMatches(looks: readonly string[]): Set<Value> {
    const found = new Set<Value>()
    for (const look of looks) {
      for (const value of this.#byName.get(withoutEditions(look)) ?? []) found.add(value)
      if (look.length < minLength) continue
      for (const end of endsOf(look))
        for (const other of this.#byEnd.get(end) ?? [])
          if (!found.has(other.value) && isWithinEdits(1, other.look, look)) found.add(other.value)
    }
    return found
  }
}

/** Of two long enough looks at distance one, the first or the last two characters are equal. */
const endsOf = (look: string) => [`${look.slice(0, 2)}…`, `…${look.slice(-2)}`]

function push<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value) {
  const values = map.get(key)
  if (values) values.push(value)
  else map.set(key, [value])
}
