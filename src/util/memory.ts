import { setFlagsFromString } from 'node:v8'

/**
 * V8's flags, which bound the memory of a process. MALLOC_ARENA_MAX cannot be set here, since glibc
 * reads it before Node starts: the executable `apps-service` sets it. deploy/as-service-account.sh
 * calls Node itself, to read no .env, so its commands do without.
 */

/**
 * Collects garbage when the heap is 1.5 times what the last collection left, for main.ts. By default
 * V8 waits for up to four times, which is a few percent faster at most, and takes an import 60 MB
 * more (docs/performance/decisions.md, "Import").
 */
export function collectGarbageEarly() {
  setFlagsFromString('--heap-growing-percent=50')
}

/**
 * Keeps V8's young generation as large as it is, for servers that have started, and imports. A
 * server's is 32 MB then; under load it would grow to 128 MB, for only 4 % more throughput.
 */
export function keepYoungGeneration() {
  setFlagsFromString('--semi-space-growth-factor=1')
}
