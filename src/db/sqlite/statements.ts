import type { Knex } from 'knex'

/** Runs written-out statements, and encodes many values as one that they bind. */

export async function rowsOf<Row>(
  sql: Knex,
  statement: string,
  values: readonly (string | number | Buffer)[],
): Promise<Row[]> {
  const rows: unknown = await sql.raw(statement, values)
  // The caller knows the type of the statement's rows.
  return rows as Row[]
}

/**
 * A JSON array, to be bound and cast to text. Each value is encoded by itself: one character beyond
 * Latin-1 makes encoding the whole string three times as slow.
 */
export function jsonArrayBytes(values: unknown[]): Buffer {
  const texts = values.map((value, index) =>
    Buffer.from((index === 0 ? '' : ',') + JSON.stringify(value)),
  )
  return Buffer.concat([Buffer.from('['), ...texts, Buffer.from(']')])
}
