#!/usr/bin/env node
// npx remembers the path of a checkout's command from its first run, and that was this file.

// More threads than the database has connections, so that a statement waiting for a lock does not delay the data version.
// Must be set before the first thread is used. An import needs two, one for statements and one for its file; each takes memory.
process.env.UV_THREADPOOL_SIZE ??= process.argv[2] === 'import' ? '2' : '8'

const { run } = await import('./cli/program.ts')
await run(process.argv)

export {}
