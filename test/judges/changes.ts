import { isDeepStrictEqual } from 'node:util'
import { apiCompare, type Diff } from 'api-smart-diff'
import { type Document, OpenAPIBackend } from 'openapi-backend'

/** What a change of the document asks of its version (https://semver.org), the least first. */
export const bumps = ['none', 'patch', 'minor', 'major'] as const
export type Bump = (typeof bumps)[number]
export type Change = { bump: Bump; text: string }

/**
 * All that has changed for those who call, the gravest first: major where one of their programs could break, minor for
 * what is new or deprecated, patch for texts and examples. What is not known to be harmless is major.
 */
export async function changesBetween(before: Document, after: Document): Promise<Change[]> {
  const [old, now] = [await comparable(before), await comparable(after)]
  const diffs = apiCompare(old, now).diffs.filter(
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
 * Without the version, and with references resolved: api-smart-diff takes a component for part of a request wherever it
 * is used. It also infers a type that is left out, so each stands there a second time.
 */
async function comparable(document: Document) {
  const { definition } = await new OpenAPIBackend({ definition: document, quick: true }).init()
  const { info, components, ...rest } = structuredClone(definition)
  const { version: _, ...texts } = info
  const text = JSON.stringify({ ...rest, info: texts, components: { securitySchemes: components?.securitySchemes } })
  return JSON.parse(text, (_name, value) =>
    typeof value?.type === 'string' ? { ...value, [repeatedType]: value.type } : value,
  )
}

const repeatedType = 'type, repeated'

/** Generated clients call their types by these names. */
function namesChanged(before: Document, after: Document): Change[] {
  const [old, now] = [before, after].map(({ components }) => new Set(Object.keys(components?.schemas ?? {})))
  if (!old || !now) return []
  return [
    ...[...old.difference(now)].map((name) => ({ bump: 'major' as const, text: `removed: the schema ${name}` })),
    ...[...now.difference(old)].map((name) => ({ bump: 'minor' as const, text: `added: the schema ${name}` })),
  ]
}

function bumpOf({ type, action, path }: Diff): Bump {
  const names = path.map(String)
  if (isText(names)) return 'patch'
  if (type === 'deprecated') return 'minor'
  return type === 'non-breaking' && isHarmless(action, names) ? 'minor' : 'major'
}

/** Names after which anything may stand, a field called description for one. */
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
 * Where api-smart-diff is believed when it finds a change compatible. It is wrong, in one direction or both, of changed
 * types, patterns, formats and defaults, of nulls, of a body that is demanded where none was, of a field that has a
 * default and is demanded now, of fields that closed objects no longer take, and of headers that may be missing now.
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
    action === 'add' && (isOperation || ['paths', 'responses', 'headers', 'content', 'parameters'].includes(parent))
  )
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** One line for what has changed alike in several places, as a schema does that many answers have. */
function together(diffs: Diff[]): Change[] {
  const alike = Map.groupBy(diffs.map(describe), ({ bump, what, how }) => [bump, what, how].join('\n'))
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
  const [place, within] = schema === -1 ? [path, []] : [path.slice(0, schema), path.slice(schema + 1)]
  const values = [before, after].filter((value) => value !== undefined && typeof value !== 'object').map(shown)
  const names = within.filter((name) => name !== 'properties')
  return {
    bump: bumpOf(diff),
    place: place.filter((name) => !['paths', 'content', 'application/json'].includes(String(name))).join(' '),
    what: [...names, ...(values.length > 0 ? [values.join(' → ')] : [])].join(' '),
    how: verbs[action],
  }
}

const shown = (value: unknown) => {
  const text = JSON.stringify(value)
  return text.length > 40 ? `${text.slice(0, 39)}…` : text
}

/** With the parts of every list in one order. */
function unordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value))
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, unordered(part)]))
  return value.map(unordered).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
