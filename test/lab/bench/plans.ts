import sqlite3 from 'sqlite3'
import { findOrAddDeveloper, issueKey } from '../../../src/accounts/account-store.ts'
import type { Caller, OperationId } from '../../../src/contract/contract.ts'
import type { Database } from '../../../src/db/database.ts'
import type { QueryRunner } from '../../../src/db/engine.ts'
import { createHandlers } from '../../../src/http/handlers.ts'
import { decideApp } from '../../../src/moderation/decisions.ts'
import { sortOrders } from '../../support/sort-orders.ts'
import { categories, vocabulary, words } from './catalogue.ts'
import { withDatabase } from './databases.ts'
import type { Section } from './report.ts'

/** What SQLite does for each statement of the operations and of the decisions. */

/** A piece of work, and what it is called where its statements are listed. */
type Case = { name: string; work: (database: Database) => Promise<unknown> }

/** As it was run, with its values in it. */
type Statement = { sql: string; cases: string[] }

/** Creates an app, and deletes it again. */
export async function explainAll(databaseFile: string, size: number): Promise<Section> {
  const title = `Query plans, ${size.toLocaleString('en')} apps`
  return { title, tables: [], musts: [], details: await plansOf(databaseFile, size) }
}

/** Markdown: whose a statement is, the statement, and its plan. */
async function plansOf(databaseFile: string, size: number): Promise<string> {
  const statements = await collect(databaseFile, Object.values(casesOf(size)).flat())
  const explained: string[] = []
  await withDatabase(databaseFile, async (database) => {
    for (const { sql, cases } of statements) {
      const plan = await database.read(({ rows }) => explain(rows, sql))
      explained.push(`${some(cases)}:\n\n\`\`\`\n${readable(sql)}\n\n${plan.join('\n')}\n\`\`\``)
    }
  })
  return explained.join('\n\n')
}

/**
 * By operation, so that the compiler names one without a case. In this order: updateApp and deleteApp
 * go on with the app that createApp has made.
 */
function casesOf(size: number): Record<OperationId, Case[]> {
  const limit = 20
  const middle = Math.ceil(size / limit / 2)
  const last = Math.ceil(size / limit)
  const [largest, smallest] = [categories[0] ?? '', categories.at(-1) ?? '']
  const list = (name: string, query: object): Case => ({
    name,
    work: (database) =>
      operations(database).listApps({ ...noInput, query: { page: 1, limit, ...query } }),
  })
  const ownApps = (name: string, query: object): Case => ({
    name,
    work: (database) =>
      operations(database).listOwnApps({
        ...noInput,
        caller: { developerId: 1, keyId: '' },
        query: { page: 1, limit, ...query },
      }),
  })
  const searches = {
    'rare word': words.rare,
    'medium word': vocabulary[400],
    'common word': words.common,
    'one letter': 's',
    'two words': `${vocabulary[100]} ${vocabulary[200]}`,
    'two words, one of them common': `${words.common} ${vocabulary[0]}`,
    'two Japanese characters': words.japanese,
    'package name': 'org.example.app77',
    typo: `${words.rare}y`,
  }
  const common = (name: string, query: object) =>
    list(`common word, ${name}`, { search: words.common, ...query })
  const operator = { operator: 'bench' }
  let caller: Caller
  let id: number
  return {
    listApps: [
      ...sortOrders.map((sort) => list(`${sort}, first page`, { sort })),
      ...sortOrders.map((sort) => list(`${sort}, middle page`, { sort, page: middle })),
      ...sortOrders.map((sort) => list(`${sort}, last page`, { sort, page: last })),
      ...sortOrders.map((sort) =>
        list(`${sort} in the largest category`, { sort, category: largest }),
      ),
      ...sortOrders.map((sort) =>
        list(`${sort} in the smallest category`, { sort, category: smallest }),
      ),
      ...Object.entries(searches).map(([name, search]) => list(`${name}, best match`, { search })),
      common('popular', { sort: 'popular' }),
      // The middle of all apps is near the end of those that have the word.
      common('best match, late page', { page: middle }),
      common('popular, late page', { sort: 'popular', page: middle }),
      common('best match in the largest category', { category: largest }),
      common('best match in the smallest category', { category: smallest }),
      common('popular in the largest category', { sort: 'popular', category: largest }),
      common('popular in the smallest category', { sort: 'popular', category: smallest }),
      list('slug', { slug: 'app-77' }),
    ],
    listCategories: [
      {
        name: 'categories',
        work: (database) => operations(database).listCategories(noInput),
      },
    ],
    listOwnApps: [ownApps('own apps', {}), ownApps('own apps, pending', { status: 'pending' })],
    getApp: [
      {
        name: 'one app',
        work: (database) => operations(database).getApp({ ...noInput, path: { id: 1 } }),
      },
    ],
    createApp: [
      {
        name: 'key issue',
        work: (database) =>
          database.write(async (runner) => {
            const developer = await findOrAddDeveloper(runner, 'Developer 1')
            caller = {
              developerId: developer.id,
              keyId: (await issueKey(runner, developer, operator)).id,
            }
          }),
      },
      {
        name: 'create',
        async work(database) {
          const body = { name: 'Plan', description: 'To be explained.', category_id: 1 }
          const reply = await operations(database).createApp({ ...noInput, caller, body })
          id = reply.body.data.app_id
        },
      },
      {
        name: 'approve',
        work: (database) => database.write((runner) => decideApp(runner, 'approve', id, operator)),
      },
    ],
    updateApp: [
      {
        name: 'update',
        work: (database) =>
          operations(database).updateApp({
            ...noInput,
            caller,
            path: { id },
            body: { name: 'Plans', category_id: 2 },
          }),
      },
    ],
    deleteApp: [
      {
        name: 'delete',
        work: (database) => operations(database).deleteApp({ ...noInput, caller, path: { id } }),
      },
    ],
  }
}

const operations = (database: Database) => createHandlers(database, 'http://localhost:3000')

/** What an operation does not take is typed as never. */
const none = {} as never
const { signal } = new AbortController()
const noInput = { caller: undefined, path: none, query: none, header: none, body: none, signal }

async function collect(databaseFile: string, cases: Case[]): Promise<Statement[]> {
  const statements = new Map<string, Statement>()
  for (const { name, work } of cases) {
    for (const sql of await traced(() => withDatabase(databaseFile, work))) {
      const shape = sql.replace(literals, '?')
      const known = statements.get(shape) ?? { sql, cases: [] }
      if (!known.cases.includes(name)) known.cases.push(name)
      statements.set(shape, known)
    }
  }
  return [...statements.values()]
}

const literals = /'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b/g

/**
 * The statements that a database executes which the work opens. SQLite itself tells them, so it
 * does not matter by which way they came to it. Those of its own, as FTS5 has, it tells behind two
 * dashes.
 */
async function traced(work: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = []
  const { Database } = sqlite3
  sqlite3.Database = new Proxy(Database, {
    construct(target, args) {
      const opened = Reflect.construct(target, args)
      opened.on('trace', (sql: string) => seen.push(sql))
      return opened
    },
  })
  try {
    await work()
  } finally {
    sqlite3.Database = Database
  }
  return seen.filter((sql) => /^\s*(?:select|insert|update|delete|with)\b/i.test(sql))
}

/** The steps of a plan, each indented by how deep it is (https://sqlite.org/eqp.html). */
async function explain(rows: QueryRunner['rows'], sql: string): Promise<string[]> {
  const steps = await rows<{ id: number; parent: number; detail: string }>(
    `explain query plan ${sql}`,
    [],
  )
  const depths = new Map<number, number>()
  return steps.map(({ id, parent, detail }) => {
    const depth = (depths.get(parent) ?? 0) + 1
    depths.set(id, depth)
    return '  '.repeat(depth - 1) + detail
  })
}

function some(names: string[]): string {
  const more = names.length - 3
  return names.slice(0, 3).join('; ') + (more > 0 ? `; and ${more} more` : '')
}

const longestLiteral = 60

/** A statement without quotes of names, broken where its clauses begin, its long values cut. */
function readable(sql: string): string {
  return sql
    .replace(literals, (literal) =>
      literal.length > longestLiteral ? `${literal.slice(0, longestLiteral)}…'` : literal,
    )
    .replaceAll('`', '')
    .replace(/\s+/g, ' ')
    .replace(/,(?=[a-z])/g, ', ')
    .trim()
    .replace(/ (?=(?:from|where|order by|group by|limit|set|values|returning) )/g, '\n  ')
    .replace(/ (?=(?:(?:left|cross|inner) )?join )(?<!(?:left|cross|inner) )/g, '\n  ')
}
