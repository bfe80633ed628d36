import { readdirSync, readFileSync } from 'node:fs'
import { checkSync } from 'recheck'
import ts from 'typescript'
import document from '../generated/openapi.json' with { type: 'json' }

/**
 * Fails if a regular expression of src/, or a pattern of the document, can take more than linear
 * time. Part of the lint.
 */

/**
 * Patterns that are not linear, or that recheck cannot parse, with the bound of their input.
 * Patterns constructed at run time are named after the declaration around them.
 */
const exceptions: Record<string, string> = {
  'src/http/reference-routes.ts /<script[^>]*>([\\s\\S]*?)<\\/script>/g':
    'The input is generated/docs.html, which scripts/docs-page.ts writes.',
  'src/contract/character-rules.ts /\\p{RGI_Emoji_Tag_Sequence}|\\p{Ideographic}[\\u{E0100}-\\u{E01EF}]/gv':
    'Unicode has three such flags, each with seven characters.',
  'src/http/moderation/views/components.ts /\\p{RGI_Emoji}/v':
    'Each emoji has at most ten characters. NewAppName limits names to 100.',
  'src/http/operations.ts pathPattern':
    'Anchored; each group stops at the next slash. Node limits the request line to 16 KiB.',
  'src/contract/field-rules.ts patternProblem':
    'The patterns are those of the document, which are checked here.',
  'src/search/terms.ts wordGroups':
    'NewAppDescription limits texts to 20,000 characters, the parameter Search to 100. Decomposed, a character is at most 18.',
  'src/util/word-difference.ts /\\s*(?:[[\\p{L}\\p{N}\\p{M}_\\u200C\\u200D]--[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmr}\\p{scx=Mymr}]]+|\\p{RI}{2}|\\S(?:\\u200D\\S|[\\p{M}\\p{EMod}\\u{E0020}-\\u{E007F}])*)|\\s+/gv':
    'One pass: no alternative begins as another does. NewAppDescription limits texts to 20,000 characters.',
  'src/search/terms.ts isRun': 'One repetition.',
  'src/search/terms.ts isWord': 'One repetition.',
}

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

/** Has no source if it is constructed at run time. */
type Pattern = { name: string; source?: string; flags: string }

const pattern = (file: string, source: string, flags: string): Pattern => ({
  name: `${file} /${source}/${flags}`,
  source,
  flags,
})

function patternsOfFile(file: string): Pattern[] {
  const code = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const patterns: Pattern[] = []
  for (const statement of code.statements) {
    const visit = (node: ts.Node) => {
      const found = patternOf(node, file, declaredName(statement))
      if (found) patterns.push(found)
      ts.forEachChild(node, visit)
    }
    visit(statement)
  }
  return patterns
}

function patternOf(node: ts.Node, file: string, declaration = ''): Pattern | undefined {
  if (ts.isRegularExpressionLiteral(node)) {
    const end = node.text.lastIndexOf('/')
    return pattern(file, node.text.slice(1, end), node.text.slice(end + 1))
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
    ? pattern(file, source.text, flags?.text ?? '')
    : { name: `${file} ${declaration}`, flags: '' }
}

function declaredName(statement: ts.Statement): string | undefined {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations[0]?.name.getText()
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement))
    return statement.name?.text
  return undefined
}

/** ajv compiles them with the flag u. */
const patternsOfDocument = (node: unknown): Pattern[] =>
  typeof node !== 'object' || node === null
    ? []
    : Object.entries(node).flatMap(([key, value]) =>
        key === 'pattern' && typeof value === 'string'
          ? [pattern('generated/openapi.json', value, 'u')]
          : patternsOfDocument(value),
      )

function problemOf({ source, flags }: Pattern): string | undefined {
  if (source === undefined) return 'is constructed at run time, so it cannot be checked'
  const result = checkSync(source, flags, limits)
  if (result.status === 'vulnerable')
    return `takes ${result.complexity.summary} time, for example with ${result.attack.pattern}`
  if (result.status === 'unknown') return `cannot be decided (${result.error.kind})`
  return undefined
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
  /\.[jt]s$/.test(file),
)
const all = [
  ...files.flatMap((file) => patternsOfFile(`src/${file}`)),
  ...patternsOfDocument(document),
]
const patterns = new Map(all.map((each) => [each.name, each]))

const problems = [...patterns.values()].flatMap((each) => {
  const problem = problemOf(each)
  const isException = each.name in exceptions
  if (problem && !isException)
    return [
      `${each.name} ${problem}. Make it linear, or bound its input and add it to the exceptions.`,
    ]
  return isException && !problem ? [`${each.name} is linear. Remove it from the exceptions.`] : []
})
const missing = Object.keys(exceptions).filter((name) => !patterns.has(name))
problems.push(...missing.map((name) => `${name} does not exist. Remove it from the exceptions.`))

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(
  `Checked ${patterns.size} patterns, ${Object.keys(exceptions).length} of them exceptions.`,
)
