#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// More threads than a database has connections, before the first of them is used: else a statement that waits for a lock would
// hold up whoever asks only for the data's version.
// An import has one, and each thread keeps memory of its own: one for its statements, one for its file.
process.env.UV_THREADPOOL_SIZE ??= process.argv[2] === 'import' ? '2' : '8'

// What was compiled once is not compiled again: half of the time that a command takes. Beside what npm installed, so that no
// other account can write there as in a folder for all; where this one cannot either, nothing is kept.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'))

const { run } = await import('./cli/program.ts')
await run(process.argv)
