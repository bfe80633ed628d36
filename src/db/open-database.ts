import { ServiceError } from '../contract/errors.ts'
import { required } from '../util/helpers.ts'
import { databaseFor, rethrowUnavailable } from './database.ts'
import { parseFileUrl, parseServerUrl } from './database-url.ts'
import type { DatabaseOptions } from './engine.ts'
import { openPostgres } from './postgres/engine.ts'
import { postgresTools } from './postgres/tools.ts'
import { findSchemaError } from './schema-age.ts'
import { openSqlite } from './sqlite/engine.ts'
import { sqliteTools } from './sqlite/tools.ts'
import type { DatabaseWithTools } from './tools.ts'

/** Opens a database whose URL `isDatabaseUrl` accepts. Connects when the first statement runs. */
export function openDatabase(url: string, options?: DatabaseOptions): DatabaseWithTools {
  const filename = parseFileUrl(url)
  const engine =
    filename === undefined
      ? openPostgres(required(parseServerUrl(url), 'a DATABASE_URL'), options)
      : openSqlite(filename, options)
  const tools = filename === undefined ? postgresTools(engine) : sqliteTools(engine)
  const rethrow = rethrowUnavailable(engine)
  return {
    ...databaseFor(engine),
    ...tools,
    committedBefore: () => tools.committedBefore().catch(rethrow),
    waitForSmallerIds: () => tools.waitForSmallerIds().catch(rethrow),
    optimize: (options) => tools.optimize(options).catch(rethrow),
  }
}

/** Opens a database that must exist and be migrated. Throws `unavailable` with what to do. */
export async function openMigratedDatabase(
  url: string,
  options?: DatabaseOptions,
): Promise<DatabaseWithTools> {
  const database = openDatabase(url, options)
  try {
    assertUsable(
      database.name,
      (await database.checkHealth()) ?? (await database.read(({ sql }) => findSchemaError(sql))),
    )
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Throws `unavailable` if there is a reason, such as "does not exist". */
export function assertUsable(name: string, reason: string | undefined): void {
  if (reason !== undefined) throw new ServiceError('unavailable', `the database ${name} ${reason}`)
}
