import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

/**
 * Prints the number of tokens of src/, in all and by directory: how much code there is to read,
 * however it is formatted. A token is a leaf of TypeScript's syntax tree with a text that is not a
 * comment. `node scripts/tokens.ts DIRECTORY` counts another directory, such as one of an earlier
 * version.
 */

function countTokens(node: ts.Node, file: ts.SourceFile): number {
  if (ts.isJSDoc(node)) return 0
  const children = node.getChildren(file)
  // Empty lists and the end of the file have no text.
  if (children.length === 0) return node.getWidth(file) > 0 ? 1 : 0
  return children.reduce((sum, child) => sum + countTokens(child, file), 0)
}

const root = process.argv[2] ?? join(import.meta.dirname, '../src')
const tokens = new Map<string, number>()
for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
  if (!/\.[jt]s$/.test(path)) continue
  const file = ts.createSourceFile(
    path,
    readFileSync(join(root, path), 'utf8'),
    ts.ScriptTarget.Latest,
  )
  const directory = dirname(path)
  tokens.set(directory, (tokens.get(directory) ?? 0) + countTokens(file, file))
}

const total = [...tokens.values()].reduce((sum, count) => sum + count, 0)
for (const [directory, count] of [...[...tokens].toSorted(), ['in all', total]])
  console.log(String(count).padStart(7), directory)
