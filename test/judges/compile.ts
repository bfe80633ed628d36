import { dirname, join } from 'node:path'
import ts from 'typescript'

/** The options of both compilations: strict, and stricter than strict. */
const strict: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
}
const stricter = { ...strict, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }

const library = dirname(ts.getDefaultLibFilePath(strict))
const libraryFiles = new Map<string, ts.SourceFile | undefined>()

/**
 * The errors of tsc for the file in this directory, also with options that are stricter than
 * strict. It runs in this process, so that TypeScript's library is parsed once.
 */
export function compile(folder: string, file: string): string {
  return [strict, stricter].map((options) => errorsOf(join(folder, file), folder, options)).join('')
}

function errorsOf(file: string, folder: string, options: ts.CompilerOptions): string {
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getCurrentDirectory = () => folder
  host.getSourceFile = (name, ...rest) => {
    if (dirname(name) !== library) return getSourceFile(name, ...rest)
    if (!libraryFiles.has(name)) libraryFiles.set(name, getSourceFile(name, ...rest))
    return libraryFiles.get(name)
  }
  const program = ts.createProgram([file], options, host)
  return ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), host)
}
