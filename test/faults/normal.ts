import { pragmas } from '../../src/db/sqlite/client.ts'

/** Imported before the program: its connections then work as those of one that does not wait for the disk. */
Object.assign(pragmas, { synchronous: 1 })
