import { openDatabase } from '../../src/db/database.ts'

/** A process of its own that changes an app again and again, and tells of each change when it is acknowledged: `node writer.ts DATABASE_URL ID COUNT`. */

const [address = '', id, count] = process.argv.slice(2)
const database = openDatabase(address)
for (let number = 1; number <= Number(count); number++) {
  await database.write(({ sql }) =>
    sql('apps')
      .where({ id: Number(id) })
      .update({ total_downloads: number }),
  )
  process.stdout.write(`${number}\n`)
}
await database.close()
