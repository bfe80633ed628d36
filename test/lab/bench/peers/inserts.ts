import { DatabaseSync } from 'node:sqlite'
import { pragmas } from '../../../../src/db/sqlite/client.ts'

/**
 * The upper limit for an import: copies its rows from other databases by INSERT … SELECT into an
 * empty one with the same schema and durability. Prints the seconds until the file is closed.
 */

/** Apps per transaction. */
const batchSize = 2000

const [databaseFile = '', readyFile = '', tokensFile = ''] = process.argv.slice(2)
const database = new DatabaseSync(databaseFile)
for (const [name, value] of Object.entries(pragmas)) database.exec(`pragma ${name} = ${value}`)
database.prepare('attach ? as ready').run(readyFile)
database.prepare('attach ? as prepared').run(tokensFile)

const started = performance.now()
inTransaction(() => {
  for (const table of ['developers', 'categories', 'slug_numbers']) {
    database.exec(`insert into main.${table} select * from ready.${table}`)
  }
  database.exec('insert into main.audit select * from ready.audit where app_id is null')
})
const parts = ['apps where id', 'reviews where app_id', 'audit where app_id'].map((rows) => {
  const [table] = rows.split(' ')
  return database.prepare(`insert into main.${table} select * from ready.${rows} between ? and ?`)
})
const index = [
  'app_search_apps (app_id, rank, name_words) select app_id, rank, name_words',
  'app_search (rowid, tokens) select rank, tokens',
].map((rows) =>
  database.prepare(
    `insert into main.${rows} from prepared.tokens_of_apps where app_id between ? and ? order by rank`,
  ),
)
const last = Number(database.prepare('select max(id) as last from ready.apps').get()?.last)
for (let first = 1; first <= last; first += batchSize) {
  inTransaction(() => {
    for (const part of [...parts, ...index]) part.run(first, first + batchSize - 1)
  })
}
database.close()
process.stdout.write(`${(performance.now() - started) / 1000}\n`)

function inTransaction(work: () => void) {
  database.exec('begin immediate')
  work()
  database.exec('commit')
}
