import document from '../../generated/openapi.json' with { type: 'json' }
import { findDevelopersByWords } from '../accounts/account-store.ts'
import { type AppState, states } from '../catalogue/app-states.ts'
import { findNamedApps, type NamedAppRow } from '../catalogue/app-store.ts'
import { packageKey } from '../catalogue/policy.ts'
import { parseReference } from '../contract/field-rules.ts'
import type { QueryRunner } from '../db/engine.ts'
import { cutNote, maxMatches } from '../search/best-matches.ts'
import { looksOf } from '../search/fold.ts'
import { lookTokens, namePhrasesOf, packagePartToken } from '../search/terms.ts'
import { pick } from '../util/helpers.ts'
import { type AppFilter, findPage } from './app-filter.ts'

/** Finds apps in any state for moderators: by a text, or by state, developer and category. */

const summaryColumns = [
  'id',
  'name',
  'slug',
  'package_name',
  'developer_name',
  'category_slug',
  'status',
  'deleted_at',
  'created_at',
  'updated_at',
] as const

/** An app of a list. */
export type AppSummary = Pick<NamedAppRow, (typeof summaryColumns)[number]>

/** A page of the apps in a state, or in any, newest first, and the total. */
export async function listApps(
  runner: QueryRunner,
  state: AppState | undefined,
  filter: AppFilter,
  limit: number,
  offset: number,
): Promise<{ apps: AppSummary[]; total: number }> {
  const { ids, total } = await findPage(runner, states[state ?? 'any'], filter, limit, offset)
  return { apps: await readSummaries(runner, ids), total }
}

/** A page of the apps that a text names, and their number. */
export async function listFoundApps(
  runner: QueryRunner,
  text: string,
  limit: number,
  offset: number,
): Promise<{ apps: AppSummary[]; total: number; note?: string }> {
  const { ids, hasMore } = await findApps(runner, text, maxMatches)
  return {
    apps: await readSummaries(runner, ids.slice(offset, offset + limit)),
    total: ids.length,
    ...(hasMore && { note: cutNote('first') }),
  }
}

async function readSummaries(runner: QueryRunner, ids: number[]): Promise<AppSummary[]> {
  return (await findNamedApps(runner, ids)).map((app) => pick(app, ...summaryColumns))
}

/** Characters. No field that is compared is longer. */
const maxTextLength = document.components.schemas.PackageName.maxLength

/**
 * The apps, also deleted ones, that a text names: the one with this id (`108`, `#108`, `108@k3f9a`),
 * slug or package name (in any case), those whose names look like the text, those of the developer
 * with exactly this name, those whose names have all of its words, first whole and then as
 * beginnings, those with a part of the package name that begins with it, and those of developers
 * whose names have words that begin with all of its words. Each app once, the newest of a kind
 * first.
 */
export async function findApps(
  runner: QueryRunner,
  text: string,
  limit: number,
): Promise<{ ids: number[]; hasMore: boolean }> {
  // No stored text has a NUL, and not every engine takes one.
  const trimmed = text.replaceAll('\0', ' ').trim()
  if (trimmed === '' || trimmed.length > maxTextLength) return { ids: [], hasMore: false }
  const ids = new Set<number>()
  for (const find of [
    findExact,
    findByLook,
    findOfDeveloper,
    findByWords,
    findByPackagePart,
    findOfDevelopers,
  ]) {
    for (const id of await find(runner, trimmed, limit + 1)) ids.add(id)
    if (ids.size > limit) break
  }
  return { ids: [...ids].slice(0, limit), hasMore: ids.size > limit }
}

type Finder = (runner: QueryRunner, text: string, limit: number) => Promise<number[]>

const findExact: Finder = async ({ sql }, text) => {
  const id = parseReference(text.replace(/^#/, ''))?.id
  return [
    ...(id === undefined ? [] : await sql('apps').where({ id }).pluck('id')),
    ...(await sql('apps').where({ slug: text }).pluck('id')),
    ...(await sql('apps')
      .where({ package_key: packageKey(text) })
      .pluck('id')),
  ]
}

const findByLook: Finder = ({ names }, text, limit) =>
  names.newestWith(
    [lookTokens(looksOf(text)).map((token) => ({ tokens: [token], isPrefix: false }))],
    limit,
  )

const findOfDeveloper: Finder = async (runner, name, limit) =>
  appsOf(runner, await runner.sql('developers').where({ name }).pluck('id'), limit)

const findByWords: Finder = async ({ names }, text, limit) => {
  const find = (isPrefix: boolean) => names.newestWith(namePhrasesOf(text, { isPrefix }), limit)
  return [...(await find(false)), ...(await find(true))]
}

const findByPackagePart: Finder = async ({ names }, text, limit) =>
  /^\w+$/.test(text)
    ? names.newestWith([[{ tokens: [packagePartToken(text)], isPrefix: true }]], limit)
    : []

const findOfDevelopers: Finder = async (runner, text, limit) =>
  appsOf(runner, await findDevelopersByWords(runner, text), limit)

async function appsOf({ sql }: QueryRunner, developers: number[], limit: number) {
  if (developers.length === 0) return []
  return sql('apps')
    .whereIn('developer_id', developers)
    .orderBy('id', 'desc')
    .limit(limit)
    .pluck('id')
}
