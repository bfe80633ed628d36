import { openDatabase } from '../../src/db/open-database.ts'

/**
 * Changes an app repeatedly and prints each acknowledged change: `node repeat-write.ts DATABASE_URL
 * ID COUNT`.
 */

const [address = '', id, count] = process.argv.slice(2)
const database = openDatabase(address)
for (let number = 1; number <= Number(count); number++) {
  await database.write(async ({ sql, markPublicChange }) => {
    markPublicChange()
    await sql('apps')
      .where({ id: Number(id) })
      .update({ total_downloads: number })
  })
  process.stdout.write(`${number}\n`)
}
await database.close()
