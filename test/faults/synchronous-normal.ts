import { pragmas } from '../../src/db/sqlite/client.ts'

/**
 * Loaded by `--import` before the program: sets synchronous to NORMAL, so that commits do not wait
 * for the disk.
 */
Object.assign(pragmas, { synchronous: 1 })
