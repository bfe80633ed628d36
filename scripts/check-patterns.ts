import { hash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { checkSync } from 'recheck'
import recheck from 'recheck/package.json' with { type: 'json' }
import ts from 'typescript'
import document from '../generated/openapi.json' with { type: 'json' }

/**
 * Fails if a regular expression of src/, or a pattern of the document, can take more than linear
 * time. Part of the lint.
 *
 * An exception is a comment above the statement: `// recheck-ignore: `, and what limits its input.
 */

/**
 * Limits in steps, so that each machine gets the same result. The timeout ends an analysis that
 * would take minutes.
 */
const limits = {
  timeout: 240_000,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  attackLimit: 10_000_000,
  maxAttackStringSize: 16_384,
  maxNFASize: 5000,
  maxIteration: 2,
}
// Pure JavaScript, because the package lacks binaries for some platforms.
process.env.RECHECK_SYNC_BACKEND = 'pure'

/** What earlier runs found, by a hash of the pattern: checking all again takes ten seconds. */
const cacheFile = 'node_modules/.cache/checked-patterns.json'
const cached = readCache()
const results: Record<string, string> = {}

type Pattern = {
  /** Where it is, such as `src/http/log.ts:12`. */
  place: string
  /** Undefined if it is constructed at run time. */
  source: string | undefined
  flags: string
  /** Where the comment is that makes it an exception. */
  exception: string | undefined
}

function patternsOfFile(file: string): Pattern[] {
  const text = readFileSync(file, 'utf8')
  const code = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const placeAt = (position: number) =>
    `${file}:${code.getLineAndCharacterOfPosition(position).line + 1}`
  const patterns: Pattern[] = []
  const visit = (node: ts.Node, outer: string | undefined) => {
    const comment = ts.isStatement(node) ? exceptionAbove(node, text) : undefined
    const exception = comment ? placeAt(comment.pos) : outer
    const found = patternOf(node)
    if (found) patterns.push({ ...found, place: placeAt(node.getStart()), exception })
    ts.forEachChild(node, (child) => visit(child, exception))
  }
  visit(code, undefined)
  return patterns
}

const exceptionAbove = (statement: ts.Statement, text: string) =>
  ts
    .getLeadingCommentRanges(text, statement.pos)
    ?.find(({ pos, end }) => /^\/\/ recheck-ignore: \S/.test(text.slice(pos, end)))

function patternOf(node: ts.Node): Pick<Pattern, 'source' | 'flags'> | undefined {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/')
    return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) }
  }
  if (
    !(ts.isNewExpression(node) || ts.isCallExpression(node)) ||
    node.expression.getText() !== 'RegExp'
  )
    return undefined
  const [source, flags] = node.arguments ?? []
  const isLiteral =
    source && ts.isStringLiteralLike(source) && (!flags || ts.isStringLiteralLike(flags))
  return isLiteral
    ? { source: source.text, flags: flags?.text ?? '' }
    : { source: undefined, flags: '' }
}

/** ajv compiles them with the flag u. */
const patternsOfDocument = (node: unknown): Pattern[] =>
  typeof node !== 'object' || node === null
    ? []
    : Object.entries(node).flatMap(([key, value]) =>
        key === 'pattern' && typeof value === 'string'
          ? [{ place: 'generated/openapi.json', source: value, flags: 'u', exception: undefined }]
          : patternsOfDocument(value),
      )

/** What is wrong with it; empty if it is linear. */
function problemOf({ source, flags }: Pattern): string {
  if (source === undefined) return 'a pattern that is constructed at run time cannot be checked'
  const key = hash('sha256', JSON.stringify([recheck.version, limits, source, flags]))
  results[key] ??= cached[key] ?? check(source, flags)
  return results[key]
}

function check(source: string, flags: string): string {
  const name = `/${source}/${flags}`
  const result = checkSync(source, flags, limits)
  if (result.status === 'vulnerable')
    return `${name} takes ${result.complexity.summary} time, for example with ${result.attack.pattern}`
  return result.status === 'unknown' ? `${name} cannot be decided (${result.error.kind})` : ''
}

function readCache(): Record<string, string> {
  try {
    return JSON.parse(readFileSync(cacheFile, 'utf8'))
  } catch {
    return {}
  }
}

const patterns = [
  ...readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.[jt]s$/.test(file))
    .flatMap((file) => patternsOfFile(`src/${file}`)),
  ...patternsOfDocument(document),
].map((pattern) => ({ ...pattern, problem: problemOf(pattern) }))

const exceptions = new Set(patterns.flatMap(({ exception }) => exception ?? []))
const needed = new Set(patterns.flatMap(({ exception, problem }) => (problem && exception) || []))
const advice = 'Make it linear, or say above the statement what limits its input'
const problems = [
  ...patterns.flatMap(({ place, problem, exception }) =>
    problem && !exception ? `${place}: ${problem}. ${advice}: // recheck-ignore: LIMIT` : [],
  ),
  ...[...exceptions.difference(needed)].map(
    (place) => `${place}: the patterns below are linear. Remove the comment.`,
  ),
]
mkdirSync(dirname(cacheFile), { recursive: true })
writeFileSync(cacheFile, JSON.stringify(results))

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`Checked ${patterns.length} patterns, and found ${needed.size} exceptions.`)
