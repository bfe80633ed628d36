import type { Knex } from 'knex'

/** A rename is one transaction now, so only the current name is stored. */
export async function up(sql: Knex): Promise<void> {
  for (const column of ['next_name', 'former_name'])
    await sql.raw(`alter table developers drop column ${column}`)
}
