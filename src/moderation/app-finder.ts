import document from '../../generated/openapi.json' with { type: 'json' }
import { packageKey } from '../catalogue/app-store.ts'
import { parseReference } from '../contract/field-rules.ts'
import type { QueryRunner } from '../db/engine.ts'

/** Finds the apps in any state that a text names, for moderators. */

/** One way to find apps: a condition and an order that an index serves, and its values. */
type Way = readonly [where: string, order: string, ...values: (string | number)[]]

const { AppName, PackageName } = document.components.schemas

/** Characters. No field that is compared is longer. */
const maxTextLength = PackageName.maxLength

/** At least each text that can follow the beginning of a name. */
const greatestText = '\u{10FFFF}'.repeat(AppName.maxLength)

/**
 * Apps in any state, also deleted ones: the app with this id (`108`, `#108`, `108@k3f9a`), slug or
 * package name (in any case), all apps of the developer with exactly this name, newest first, and
 * those whose names begin with the text, by name. Each app once. Names are compared regardless of
 * case, beyond ASCII only in the spellings of `nameSpellings`.
 */
export async function findApps(
  runner: QueryRunner,
  text: string,
  limit: number,
): Promise<{ ids: number[]; hasMore: boolean }> {
  const ids = new Set<number>()
  for (const [where, order, ...values] of waysOf(text.trim())) {
    const rows = await runner.rows<{ id: number }>(
      `select id from apps where ${where} order by ${order} limit ?`,
      [...values, limit + 1],
    )
    for (const { id } of rows) ids.add(id)
    if (ids.size > limit) break
  }
  return { ids: [...ids].slice(0, limit), hasMore: ids.size > limit }
}

const developer = '(select id from developers where name = ?)'

function waysOf(text: string): Way[] {
  if (text === '' || text.length > maxTextLength) return []
  const id = parseReference(text.replace(/^#/, ''))?.id
  return [
    ...(id === undefined ? [] : [['id = ?', 'id', id] as const]),
    ['slug = ?', 'id', text],
    ['package_key = ?', 'id', packageKey(text)],
    // A range with one value. For an equality, PostgreSQL may walk all apps in the order of the ids.
    [
      `developer_id between ${developer} and ${developer}`,
      'developer_id desc, id desc',
      text,
      text,
    ],
    ...nameSpellings(text).map(
      (name): Way => [
        'lower(name) >= ? and lower(name) <= ?',
        'lower(name), id',
        name,
        name + greatestText,
      ],
    ),
  ]
}

/**
 * The text as names in it are indexed: with ASCII in lower case. The index has other letters as the
 * owner wrote them, so these are tried as typed, in lower and upper case, and with the first or
 * every word capitalized.
 */
function nameSpellings(text: string): string[] {
  const lower = text.toLowerCase()
  const capitalize = (word: string) => word.replace(/^./u, (first) => first.toUpperCase())
  const spellings = [
    text,
    lower,
    text.toUpperCase(),
    capitalize(lower),
    lower.split(' ').map(capitalize).join(' '),
  ]
  return [...new Set(spellings.map(lowerAscii))]
}

const lowerAscii = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
