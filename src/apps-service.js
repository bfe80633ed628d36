import module from 'node:module'
import { join } from 'node:path'

// Older versions fail on the imports below, with a stack trace that does not say why.
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `apps-service: this is Node ${process.versions.node}, but Node 24 is needed; make install installs it.`,
  )
  process.exit(1)
}

// This file is JavaScript, because for TypeScript that is not in the cache Node loads a type stripper: 17 MB and 30 ms.
// The cache also halves the time of a command, since nothing is compiled twice. It is in node_modules, because other accounts
// can write to a shared temporary directory. If this account cannot write to node_modules, nothing is cached.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'))

await import('./main.ts')
