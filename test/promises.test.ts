import { dirname } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

/**
 * tsc does not notice an `await` that is missing before a statement. Biome's noFloatingPromises
 * (2.6) finds 30 of 60, and none before a query of Knex.
 */

const root = dirname(import.meta.dirname)

/** Methods that return the query that they change. */
const changesQuery = /^(where|orderBy|limit)/

test('no statement drops a promise', { timeout: 300_000 }, () => {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile)
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const own = fileNames.filter((name) =>
    /^(src|deploy|scripts|seeds)\//.test(name.slice(root.length + 1)),
  )
  const program = ts.createProgram(own, options)
  const checker = program.getTypeChecker()
  const hasThen = (type: ts.Type): boolean =>
    type.isUnion() ? type.types.some(hasThen) : type.getProperty('then') !== undefined
  const dropped: string[] = []

  function inspect(node: ts.Node, file: ts.SourceFile) {
    if (ts.isExpressionStatement(node) && !isHandled(node.expression)) {
      if (hasThen(checker.getTypeAtLocation(node.expression))) {
        const { line } = file.getLineAndCharacterOfPosition(node.getStart())
        dropped.push(`${file.fileName.slice(root.length + 1)}:${line + 1}`)
      }
    }
    ts.forEachChild(node, (child) => inspect(child, file))
  }
  for (const name of own) {
    const file = program.getSourceFile(name)
    if (file) inspect(file, file)
  }
  expect(own.length).toBeGreaterThan(100)
  expect(dropped).toEqual([])
})

/** Waits, keeps the promise, handles its error, or does not run the query yet. */
function isHandled(expression: ts.Expression): boolean {
  if (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression)) return true
  if (ts.isBinaryExpression(expression)) return true
  if (!ts.isCallExpression(expression)) return false
  const { expression: callee, arguments: given } = expression
  if (!ts.isPropertyAccessExpression(callee)) return false
  const { text: method } = callee.name
  return (
    method === 'catch' || (method === 'then' && given.length === 2) || changesQuery.test(method)
  )
}
