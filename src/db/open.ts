import { access, constants, mkdir, readdir, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Knex } from 'knex'
import type { Config } from '../config.ts'
import { ServiceError } from '../errors.ts'
import {
  copyDatabase,
  copySize,
  findDamage,
  isUnavailable,
  openCopy,
  openReader,
  openWriter,
  searchIndex,
  sqliteMessage,
  violatedUnique,
} from './sqlite.ts'

export { insertRows, jsonRows, type SearchDocument } from './sqlite.ts'

/** What a store works with: a way to run SQL, and the search index through it. */
export type Connection = Readonly<{ sql: Knex; search: ReturnType<typeof searchIndex> }>

/** Both ways in throw `unavailable` where the database cannot be reached or is overloaded. */
export type Database = Readonly<{
  /** Cannot write. Each statement sees one moment of the data, so what must agree is read by one statement. */
  read: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  /** One transaction, which holds the one write lock: all of the work happens or none. When it resolves, it survives a crash. */
  write: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  /** Brings the schema up to date; returns the names of the migrations it ran. */
  migrate: () => Promise<string[]>
  /** How the schema compares with this program's. Rejects where the database cannot be read. */
  schemaAge: () => Promise<SchemaAge>
  seed: (directory: string) => Promise<void>
  /**
   * Writes the database as it is now into a new file while others go on writing, and checks what it wrote: a database
   * complete in itself. Where it throws, what it left under that name is the caller's to remove.
   */
  copyTo: (file: string) => Promise<{ apps: number }>
  close: () => Promise<void>
}>

export const connectionOf = (sql: Knex): Connection => ({ sql, search: searchIndex(sql) })

export type SchemaAge = 'older' | 'current' | 'newer'

const migrations = { directory: `${import.meta.dirname}/migrations`, loadExtensions: ['.ts'] }

/** Opens without touching the file: the first read or write does. */
export function openDatabase({ filename }: Config['database']): Database {
  const writer = openWriter(filename)
  const reader = openReader(filename)

  return {
    read: (work) => work(connectionOf(reader)).catch(rethrow),
    write: (work) => writer.transaction((sql) => work(connectionOf(sql))).catch(rethrow),

    async migrate() {
      await mkdir(dirname(filename), { recursive: true })
      try {
        if ((await schemaAge(writer)) === 'newer') throw new ServiceError('refused', meaningOf.newer)
        const [, names] = await writer.migrate.latest(migrations)
        return names
      } catch (error) {
        const reason = error instanceof ServiceError ? error.message : sqliteMessage(error)
        throw reason ? new ServiceError('refused', `the database ${filename} cannot be migrated: ${reason}`) : error
      }
    },

    schemaAge: () => schemaAge(reader),

    async seed(directory) {
      await writer.seed.run({ directory, loadExtensions: ['.ts'] })
    },

    async copyTo(file) {
      try {
        const { mode } = await stat(filename)
        await checkRoom(file, await copySize(reader))
        // Made here, for nobody to read who may not read the database: SQLite would make it readable to all.
        await writeFile(file, '', { flag: 'wx', mode })
        await copyDatabase(filename, file)
        return await checkCopy(file)
      } catch (error) {
        const reason = sqliteMessage(error)
        throw reason ? new ServiceError('unavailable', `the database cannot be copied: ${reason}`) : error
      }
    },

    async close() {
      await Promise.all([writer.destroy(), reader.destroy()])
    },
  }
}

async function schemaAge(sql: Knex): Promise<SchemaAge> {
  if (!(await sql.schema.hasTable('knex_migrations'))) return 'older'
  const completed = new Set<string>(await sql('knex_migrations').pluck('name'))
  const known = new Set(await readdir(migrations.directory))
  if (!completed.isSubsetOf(known)) return 'newer'
  return known.isSubsetOf(completed) ? 'current' : 'older'
}

/** Refuses what would not fit, before it fills a disk that the service may be writing to. */
async function checkRoom(file: string, bytes: number) {
  const { bavail, bsize } = await statfs(dirname(file))
  const free = bavail * bsize
  if (free >= bytes) return
  const megabytes = (count: number) => `${Math.ceil(count / 1e6).toLocaleString('en')} MB`
  throw new ServiceError('refused', `a copy takes ${megabytes(bytes)}, and there is room for ${megabytes(free)}`)
}

async function checkCopy(file: string): Promise<{ apps: number }> {
  const copy = openCopy(file)
  try {
    const damage =
      (await findDamage(copy)) ?? ((await schemaAge(copy)) === 'current' ? undefined : 'migrations are missing')
    if (damage !== undefined) {
      throw new ServiceError('refused', `the copy is not sound, and the database itself may not be: ${damage}`)
    }
    const counted = await copy('apps').count({ apps: '*' }).first()
    return { apps: Number(counted?.apps) }
  } finally {
    await copy.destroy()
  }
}

/** The database as a running service needs it: there already, and migrated. Throws `unavailable` with what to do. */
export async function openMigratedDatabase(config: Config['database']): Promise<Database> {
  await access(config.filename, constants.R_OK | constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    const reason =
      error.code === 'ENOENT' ? 'does not exist; npx apps-service migrate creates it' : 'cannot be read and written'
    throw new ServiceError('unavailable', `the database ${config.filename} ${reason}`)
  })
  const database = openDatabase(config)
  const age = await database.schemaAge().catch(() => 'unreadable' as const)
  if (age === 'current') return database
  await database.close()
  throw new ServiceError('unavailable', `the database ${config.filename} ${meaningOf[age]}`)
}

const meaningOf = {
  unreadable: 'is no file that SQLite can read as a database',
  older: 'is not migrated to this version; run npx apps-service migrate',
  newer: 'was migrated by a newer version of this program; run that one',
}

/** The store's translation of a unique constraint: throws what `meanings` says of the violated column, else the error itself. */
export function rethrowViolation(error: unknown, meanings: Record<string, () => ServiceError>): never {
  const meaning = meanings[violatedUnique(error) ?? '']
  throw meaning ? meaning() : error
}

function rethrow(error: unknown): never {
  if (!isUnavailable(error)) throw error
  throw new ServiceError(
    'unavailable',
    'The service is not available just now; try again shortly.',
    {},
    { cause: error },
  )
}
