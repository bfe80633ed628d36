import { collectGarbageEarly } from './util/memory.ts'

collectGarbageEarly()

// More threads than the database has connections, so that a statement that waits for a lock does
// not delay the data version. Set before the first thread starts. Each takes memory; an import
// needs two, one for statements and one for its file.
process.env.UV_THREADPOOL_SIZE ??= process.argv[2] === 'import' ? '2' : '8'

const { run } = await import('./cli/program.ts')
await run(process.argv.slice(2))
