import { isDeepStrictEqual } from 'node:util'
import { apiCompare, type Diff } from 'api-smart-diff'
import { type Document, OpenAPIBackend } from 'openapi-backend'

/** The version bumps that changes can require (https://semver.org), smallest first. */
export const bumps = ['none', 'patch', 'minor', 'major'] as const
export type Bump = (typeof bumps)[number]
export type Change = { bump: Bump; text: string }

/**
 * All changes for callers, most severe first: major if a program could break, minor for additions
 * and deprecations, patch for texts and examples. A change not known to be harmless is major.
 */
export async function changesBetween(before: Document, after: Document): Promise<Change[]> {
  const [old, now] = [await comparable(before), await comparable(after)]
  const diffs = apiCompare(...withoutEqualOperations(old, now)).diffs.filter(
    ({ path, action }: Diff) => path.at(-1) !== repeatedType || action !== 'replace',
  )
  const changes = [...together(diffs), ...namesChanged(before, after)]
  if (changes.length === 0 && !isDeepStrictEqual(old, now)) {
    changes.push(
      isDeepStrictEqual(unordered(old), unordered(now))
        ? { bump: 'patch', text: 'changed: the order of what has none' }
        : { bump: 'major', text: 'changed: something that the comparison does not see' },
    )
  }
  return changes.toSorted((a, b) => bumps.indexOf(b.bump) - bumps.indexOf(a.bump))
}

/**
 * The document without its version and with references resolved, because api-smart-diff treats
 * every component as part of a request. It also infers missing types, so each schema is duplicated.
 */
async function comparable(document: Document) {
  const { definition } = await new OpenAPIBackend({ definition: document, quick: true }).init()
  const { info, components, ...rest } = structuredClone(definition)
  const { version: _, ...texts } = info
  const text = JSON.stringify({
    ...rest,
    info: texts,
    components: { securitySchemes: components?.securitySchemes },
  })
  return JSON.parse(text, (_name, value) =>
    typeof value?.type === 'string' ? { ...value, [repeatedType]: value.type } : value,
  )
}

const repeatedType = 'type, repeated'

// biome-ignore lint/suspicious/noExplicitAny: api-smart-diff takes any, since parts may be invalid
type Comparable = any

/** Copies without the operations that both have, because comparing them takes most of the time. */
function withoutEqualOperations(old: Comparable, now: Comparable): [Comparable, Comparable] {
  const differs = (path: string, method: string) =>
    !isDeepStrictEqual(old.paths[path]?.[method], now.paths[path]?.[method])
  const paths = (document: Comparable) =>
    Object.entries<object>(document.paths).map(([path, item]) => [
      path,
      Object.fromEntries(Object.entries(item).filter(([method]) => differs(path, method))),
    ])
  return [
    { ...old, paths: Object.fromEntries(paths(old)) },
    { ...now, paths: Object.fromEntries(paths(now)) },
  ]
}

/** The names of components, which generated clients use for their types. */
function namesChanged(before: Document, after: Document): Change[] {
  const [old, now] = [before, after].map(
    ({ components }) => new Set(Object.keys(components?.schemas ?? {})),
  )
  if (!old || !now) return []
  return [
    ...[...old.difference(now)].map((name) => ({
      bump: 'major' as const,
      text: `removed: the schema ${name}`,
    })),
    ...[...now.difference(old)].map((name) => ({
      bump: 'minor' as const,
      text: `added: the schema ${name}`,
    })),
  ]
}

function bumpOf({ type, action, path }: Diff): Bump {
  const names = path.map(String)
  if (isText(names)) return 'patch'
  if (type === 'deprecated') return 'minor'
  return type === 'non-breaking' && isHarmless(action, names) ? 'minor' : 'major'
}

/** Keys whose children have arbitrary names, for example a field called description. */
const mapNames = ['properties', 'headers', 'paths', 'schemas', 'responses', 'securitySchemes']

const isText = (names: string[]) =>
  ['info', 'tags', 'externalDocs'].includes(names[0] ?? '') ||
  names.some(
    (name, index) =>
      !mapNames.includes(names[index - 1] ?? '') &&
      (/^(description|summary|title|example|examples|externalDocs|bearerFormat)$|^x-/.test(name) ||
        (name === 'tags' && index === 3)),
  )

/**
 * Whether to trust api-smart-diff that a change is compatible. It is wrong, in one direction or
 * both, about changed types, patterns, formats and defaults, nulls, newly required bodies, newly
 * required fields with a default, fields that closed objects no longer accept, and newly optional
 * headers.
 */
function isHarmless(action: Diff['action'], names: string[]): boolean {
  const [name = '', parent = '', grandparent = ''] = names.toReversed()
  if (names[0] === 'security' || names[3] === 'security') return true
  if (parent === 'properties' || parent === 'enum') return action === 'add'
  if (parent === 'required') return (action === 'add') === (names[3] === 'responses')
  if (/^(exclusive)?(min|max)/i.test(name)) return true
  if (['pattern', 'format'].includes(name)) return action !== 'replace'
  if (name === 'required') return parent === 'requestBody' || grandparent === 'parameters'
  const isOperation = grandparent === 'paths' && methods.includes(name)
  return (
    action === 'add' &&
    (isOperation || ['paths', 'responses', 'headers', 'content', 'parameters'].includes(parent))
  )
}

export const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** Merges equal changes in several places into one line, such as those of a shared schema. */
function together(diffs: Diff[]): Change[] {
  const alike = Map.groupBy(diffs.map(describe), ({ bump, what, how }) =>
    [bump, what, how].join('\n'),
  )
  return [...alike.values()].map((group) => {
    const [{ bump, place, what, how } = nothing] = group
    const others = group.length > 1 ? ` (and in ${group.length - 1} more places)` : ''
    return { bump, text: `${how}: ${[place, what].filter(Boolean).join(' ')}${others}` }
  })
}

const nothing = { bump: 'none' as const, place: '', what: '', how: '' }
const verbs = { add: 'added', remove: 'removed', replace: 'changed', rename: 'renamed' }

function describe(diff: Diff) {
  const { action, path, before, after } = diff
  const schema = path.indexOf('schema')
  const [place, within] =
    schema === -1 ? [path, []] : [path.slice(0, schema), path.slice(schema + 1)]
  const values = [before, after]
    .filter((value) => value !== undefined && typeof value !== 'object')
    .map(shown)
  const names = within.filter((name) => name !== 'properties')
  return {
    bump: bumpOf(diff),
    place: place
      .filter((name) => !['paths', 'content', 'application/json'].includes(String(name)))
      .join(' '),
    what: [...names, ...(values.length > 0 ? [values.join(' → ')] : [])].join(' '),
    how: verbs[action],
  }
}

const shown = (value: unknown) => {
  const text = JSON.stringify(value)
  return text.length > 40 ? `${text.slice(0, 39)}…` : text
}

/** The document with all lists sorted. */
function unordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, unordered(part)]))
  return value.map(unordered).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
