import { expect, inject } from 'vitest'
import { addModerator } from '../../src/accounts/moderator-store.ts'
import { changeApps, type NewAppRow } from '../../src/catalogue/app-store.ts'
import type { Decision } from '../../src/catalogue/policy.ts'
import { readConfig } from '../../src/config.ts'
import type { Database } from '../../src/db/database.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { createLogger } from '../../src/http/log.ts'
import { listen } from '../../src/http/server.ts'
import { createModerationApp } from '../../src/moderation-page/app.ts'
import { required } from '../../src/util/helpers.ts'
import type { HttpResponse } from '../contract/checker.ts'
import { copyWorld } from './database.ts'
import { addressOf, formOf, textOf, valuesOf } from './html.ts'
import { whenFinished } from './lifetime.ts'
import { checkPage } from './page-checker.ts'
import { type Service, send, startService } from './service.ts'

/** The moderation page on a real port and database, and people who use it without a browser. */

/** Fields of a form, in their order; a list is a repeated field. */
export type Fields = Record<string, string | readonly string[]>

export type PageOptions = {
  /** Replace the ones that a browser sends, or leave them out if undefined. */
  headers?: Record<string, string | undefined>
  /** Sent unchanged, instead of fields. */
  body?: string | Buffer
}

export type ModerationPage = Visitor & {
  database: Database
  databaseUrl: string
  port: number
  /** The lines logged so far. */
  log: string[]
  /** What browsers send with the page's own forms. */
  ownHeaders: Record<string, string>
  /** Adds a moderator, and returns the sign-in key and its id. */
  addModerator: (name: string, expiresAt?: string) => Promise<{ id: string; key: string }>
  /** A person who has signed in. */
  signIn: (name: string) => Promise<Moderator>
  /** A person with these cookies; none by default. */
  visitor: (cookie?: string) => Visitor
}

export type Visitor = {
  request: (method: string, path: string, options?: PageOptions) => Promise<HttpResponse>
  get: (path: string, options?: PageOptions) => Promise<HttpResponse>
  /** Sends a form. */
  post: (path: string, fields?: Fields, options?: PageOptions) => Promise<HttpResponse>
}

export type Moderator = Visitor & { id: string; name: string; key: string; cookie: string }

type ModerationOptions = {
  origin?: string
  prefix?: string
  refusedKeyLimit?: number
  trustProxy?: number
  isDraining?: () => boolean
  lockTimeout?: number
  /** The database; a new copy of the world by default. */
  databaseUrl?: string
}

/** Starts the page. It stops when the test ends. */
export async function startModerationPage({
  origin = 'http://moderation.test',
  prefix = '',
  refusedKeyLimit = 0,
  trustProxy = 0,
  isDraining = () => false,
  lockTimeout,
  databaseUrl,
}: ModerationOptions = {}): Promise<ModerationPage> {
  const address = databaseUrl ?? (await copyWorld())
  const database = openDatabase(address, lockTimeout === undefined ? {} : { lockTimeout })
  const log: string[] = []
  const logger = createLogger('info', { write: (line: string) => log.push(line) })
  const moderation = { port: 0, baseUrl: origin + prefix, prefix }
  const config = { ...readConfig({}), port: 0, moderation, refusedKeyLimit, trustProxy }
  const app = await createModerationApp({ config, database, logger, account: 'root', isDraining })
  const { server, port } = await listen(app, config, logger)
  whenFinished(async () => {
    server.closeAllConnections()
    server.close()
    await database.close()
  })

  const ownHeaders = { Origin: origin, 'Sec-Fetch-Site': 'same-origin' }

  function visitor(cookie?: string): Visitor {
    async function request(method: string, path: string, { headers, body }: PageOptions = {}) {
      const merged = {
        ...(cookie !== undefined && { Cookie: cookie }),
        ...(method === 'POST' && {
          ...ownHeaders,
          'Content-Type': 'application/x-www-form-urlencoded',
        }),
        ...headers,
      }
      const response = await send(server, method, prefix + path, {
        headers: definedOnly(merged),
        ...(body !== undefined && { body }),
      })
      checkPage({ ...response, path }, { origin, prefix })
      return response
    }
    return {
      request,
      get: (path, options) => request('GET', path, options),
      post: (path, fields = {}, options) =>
        request('POST', path, { body: formBody(fields), ...options }),
    }
  }

  const add = (name: string, expiresAt?: string) =>
    database.write((runner) => addModerator(runner, name, actor, expiresAt))

  return {
    ...visitor(),
    database,
    databaseUrl: address,
    port,
    log,
    ownHeaders,
    visitor,
    addModerator: add,
    async signIn(name) {
      const { id, key } = await add(name)
      const response = await visitor().post('/sign-in', { key })
      expect(response.status, response.text).toBe(303)
      const cookie = cookieOf(response)
      return { ...visitor(cookie), id, name, key, cookie }
    },
  }
}

/** The page, and Ada, who has signed in. */
export async function startWithAda(
  options?: ModerationOptions,
): Promise<{ page: ModerationPage; ada: Moderator }> {
  const page = await startModerationPage(options)
  return { page, ada: await page.signIn('Ada') }
}

/** The public service and the page on one database. */
export async function startWithService(): Promise<{
  service: Service
  page: ModerationPage
  ada: Moderator
}> {
  const service = await startService({ limits: { writeLimit: 0 } })
  return { service, ...(await startWithAda({ databaseUrl: service.databaseUrl })) }
}

/** The names of a list's apps, in their order. */
export const queued = (page: string): string[] =>
  [...page.replace(/^[\s\S]*?<ul class="queue">/, '').matchAll(/<h2>(<a [\s\S]*?<\/a>)/g)].map(
    ([, link]) => textOf(`<body>${link}`),
  )

/** Opens the page that a form led to. */
export async function follow(visitor: Visitor, { status, headers, text }: HttpResponse) {
  expect(status, text.slice(0, 2000)).toBe(303)
  return visitor.get(String(headers.location))
}

/** The ids of a list's apps, in their order. */
export const queuedIds = (page: string): number[] =>
  valuesOf(page, 'app').map((app) => Number.parseInt(app, 10))

/** What stays in sight on the page of an app. */
export const barOf = (page: string): string =>
  textOf(`<body>${/<div class="bar">([\s\S]*?)<form /.exec(page)?.[1] ?? ''}`)

/** What the page of an app says that is new since the page that its form was on. */
export const newsOf = (page: string): string =>
  textOf(`<body>${/<h2>Changed since you looked<\/h2>([\s\S]*?)<\/section>/.exec(page)?.[1] ?? ''}`)

/** Follows the link Skip of an app's page to the next app, or to the list. */
export async function skip(visitor: Visitor, page: string): Promise<HttpResponse> {
  const response = await visitor.get(addressOf(page, 'Skip'))
  return response.status === 303 ? follow(visitor, response) : response
}

/** Sends the first form of a page that leads to the path, with these fields instead of its own. */
export function submit(
  visitor: Visitor,
  page: string,
  path: string,
  fields: Fields = {},
): Promise<HttpResponse> {
  const form = required(formOf(page, path), `a form for ${path}`)
  return visitor.post(form.action, { ...form.fields, ...fields })
}

/** Presses a button of the form that decides, on a page that was shown. */
export function decide(
  visitor: Visitor,
  page: string,
  decision: Decision,
  fields: Fields = {},
): Promise<HttpResponse> {
  expect(valuesOf(page, 'decision')).toContain(decision)
  return submit(visitor, page, '/decisions', { ...fields, decision })
}

const actor = { operator: 'test' }

/** The cookie that a response sets, as a browser sends it back. */
export const cookieOf = ({ headers }: HttpResponse): string =>
  required([headers['set-cookie']].flat()[0], 'a cookie').split(';', 1).join()

const definedOnly = (headers: Record<string, string | undefined>) =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )

export const formBody = (fields: Fields): string =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, value]),
    ),
  ).toString()

/**
 * Adds pending apps of Bob, the second developer of the world, in their order, which wait from one
 * minute to the next.
 */
export async function addApps({ database }: ModerationPage, added: Partial<NewAppRow>[]) {
  const apps = added.map((app, index) => {
    const at = new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString()
    return {
      at,
      app: {
        developer_id: 2,
        category_id: inject('world').categories.games,
        name: `App ${index}`,
        description: 'An app.',
        short_description: null,
        package_name: null,
        version: '1.0.0',
        status: 'pending' as const,
        rejection_reason: null,
        total_downloads: 0,
        created_at: at,
        updated_at: at,
        approved_at: null,
        ...app,
      },
    }
  })
  const rows = await database.write((runner) =>
    changeApps(runner, 'app create', { inserts: apps }, actor),
  )
  return rows.map(({ id }) => id)
}

/** The app as a form names it, at its revision of now. */
export async function referenceTo({ database }: ModerationPage, id: number): Promise<string> {
  const app = await database.read(({ sql }) => sql('apps').where({ id }).first('revision'))
  return `${id}@${app?.revision}`
}

/** The state of an app. */
export const stateOf = ({ database }: ModerationPage, id: number) =>
  database.read(({ sql }) =>
    sql('apps').where({ id }).first('status', 'deleted_at', 'rejection_reason', 'name'),
  )

/** The newest entries of the audit log, newest first. */
export const newestEntries = ({ database }: ModerationPage, count: number) =>
  database.read(({ sql }) => sql('audit').orderBy('id', 'desc').limit(count))
