#!/usr/bin/env node
// npx keeps where the command of a checkout was when it first ran it there: it was this file.

// More threads than a database has connections, before the first of them is used: else a statement that waits for a lock would
// hold up whoever asks only for the data's version.
// An import has one, and each thread keeps memory of its own: one for its statements, one for its file.
process.env.UV_THREADPOOL_SIZE ??= process.argv[2] === 'import' ? '2' : '8'

const { run } = await import('./cli/program.ts')
await run(process.argv)

export {}
