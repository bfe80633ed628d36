import { collectGarbageEarly } from './util/memory.ts'

collectGarbageEarly()

// As many threads as statements that SQLite's bulkheads admit, so that one that waits for a lock
// delays no other. Set before the first thread starts. Each takes memory; an import needs two, one
// for statements and one for its file.
process.env.UV_THREADPOOL_SIZE ??= process.argv[2] === 'import' ? '2' : '8'

const { run } = await import('./cli/program.ts')
await run(process.argv.slice(2))
