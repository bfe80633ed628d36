import { pragmas } from '../../src/db/sqlite/client.ts'

/** Loaded before the program by `--import`: sets synchronous to NORMAL, so that commits do not wait for the disk. */
Object.assign(pragmas, { synchronous: 1 })
