import { keyPrefix } from '../src/accounts/keys.ts'
import type { AuditEntry } from '../src/audit/read-entries.ts'
import type { Config } from '../src/config.ts'
import type { ApiKeyRow } from '../src/db/rows.ts'
import type { DatabaseWithTools } from '../src/db/tools.ts'
import { entriesAfter } from '../src/moderation/entries.ts'
import { sanitize, toSingleLine } from '../src/util/text.ts'
import { formatMinute } from '../src/util/time.ts'
import { openState, type Report, type State, type WaitingOwner } from './notification-state.ts'
import { sendMail } from './send-mail.ts'
import { writeState } from './state-files.ts'

/** Milliseconds. */
const patience = 3 * 24 * 60 * 60 * 1000

/** Milliseconds before its end at which a key is mentioned. */
const notice = 14 * 24 * 60 * 60 * 1000

/** Apps, and keys, in a mail. */
const maxShown = 20

/** The actions that owners are told about. */
const toldActions = ['app approve', 'app reject', 'app reopen', 'app restore']

/** The columns of an app that owners are told about. */
const toldColumns = ['status', 'rejection_reason', 'deleted_at']

/** Columns that entries have changed: their values before the first and after the last of them. */
type AppNews = {
  owner: number
  id: number
  name: string
  before: Record<string, unknown>
  after: Record<string, unknown>
}

/** A key that ends soon. */
type EndingKey = Pick<
  ApiKeyRow,
  'id' | 'developer_id' | 'name' | 'expires_at' | 'app_id' | 'read_only'
>

type Site = Pick<Config, 'baseUrl' | 'contact'>

/**
 * Sends each owner with news, or with keys that end soon, one mail. Stores first who is to get one,
 * and removes each owner after `sendmail` has accepted theirs. So a mail that was not sent, for
 * whatever reason, is sent by a later run, together with what has happened since, and a crash repeats
 * at most one mail.
 */
export async function tellOwners(
  file: string,
  site: Site,
  database: DatabaseWithTools,
  report: Report,
): Promise<void> {
  let state = await openState(file, database, report)
  const now = new Date()
  const waiting = new Map(state.owners.map((owner) => [owner.id, owner]))
  let first = state.place
  for (const owner of state.owners) if (isDue(owner, now)) first = Math.min(first, owner.from - 1)

  let { place, time } = state
  const apps = new Map<string, AppNews>()
  for await (const entry of entriesAfter(database, first)) {
    const { id, at, action, developer_id: owner } = entry
    const isNew = id > state.place
    if (isNew) [place, time] = [id, at]
    if (owner === null) continue
    if (isNew && toldActions.includes(action) && !waiting.has(owner))
      waiting.set(owner, { id: owner, from: id, since: now.toISOString() })
    if (id >= (waiting.get(owner)?.from ?? Number.POSITIVE_INFINITY)) addEntry(apps, owner, entry)
  }
  const news = Map.groupBy(apps.values(), ({ owner }) => owner)
  const untold = (await findEndingKeys(database, now)).filter(({ id }) => !state.keys?.[id])
  const ending = Map.groupBy(untold, ({ developer_id }) => developer_id)
  for (const id of ending.keys())
    if (!waiting.has(id)) waiting.set(id, { id, from: place + 1, since: now.toISOString() })
  if (place > state.place || waiting.size > state.owners.length) {
    state = { ...state, place, time, owners: [...waiting.values()] }
    writeState(file, state)()
  }

  const due = state.owners.filter((owner) => isDue(owner, now))
  // The last refused ones last: they can take half a minute each, and the unit ends a long run.
  due.sort((one, other) => (one.tried ?? '').localeCompare(other.tried ?? ''))
  for (const owner of due) {
    const others = state.owners.filter(({ id }) => id !== owner.id)
    const keys = ending.get(owner.id) ?? []
    const told = { ...state, owners: others, keys: addKeys(state.keys, keys, now) }
    const store = writeState(file, told)
    const problem = await mailOwner(owner.id, news.get(owner.id) ?? [], keys, site, database)
    if (problem === undefined) {
      store()
      state = told
      continue
    }
    const tried = new Date().toISOString()
    const isLast = Date.parse(tried) - Date.parse(owner.since) >= patience
    report(isLast ? `${problem}; given up after three days` : problem)
    state = isLast ? told : { ...state, owners: [...others, { ...owner, tried }] }
    writeState(file, state)()
  }
}

/**
 * The keys that end soon, of developers with an address, the first to end first. A key that has a
 * successor is not among them: another one of the developer, with the same rights, that ends later.
 */
const findEndingKeys = (database: DatabaseWithTools, now: Date): Promise<EndingKey[]> =>
  database.read(({ rows }) =>
    rows<EndingKey>(
      `select ending.* from api_keys as ending
       join developers on developers.id = ending.developer_id
       where developers.contact is not null
         and ending.revoked_at is null and ending.expires_at > ? and ending.expires_at <= ?
         and not exists (
           select 1 from api_keys as later
           where later.developer_id = ending.developer_id and later.revoked_at is null
             and later.app_id is not distinct from ending.app_id
             and later.read_only = ending.read_only and later.expires_at > ending.expires_at)
       order by ending.expires_at, ending.id`,
      [now.toISOString(), new Date(now.getTime() + notice).toISOString()],
    ),
  )

/** Adds keys to those that were told, and removes those that have ended. */
const addKeys = (told: State['keys'], keys: EndingKey[], now: Date): State['keys'] =>
  Object.fromEntries(
    [
      ...Object.entries(told ?? {}),
      ...keys.map(({ id, expires_at }) => [id, expires_at] as const),
    ].filter(([, end]) => end > now.toISOString()),
  )

/** An owner is tried again after as long as they have waited, and once more when patience ends. */
function isDue({ since, tried }: WaitingOwner, now: Date): boolean {
  if (tried === undefined) return true
  const [begin, last] = [Date.parse(since), Date.parse(tried)]
  const pause = now.getTime() - last
  // It is negative if the clock went back.
  return pause >= last - begin || pause < 0 || now.getTime() - begin >= patience
}

/** Begins with what owners are told about, since they know what they did themselves. */
function addEntry(apps: Map<string, AppNews>, owner: number, entry: AuditEntry) {
  const { action, app_id: id, app_name } = entry
  const key = `${owner} ${id}`
  if (id === null || !(apps.has(key) || toldActions.includes(action))) return
  const name = toSingleLine(app_name ?? '')
  const app = apps.get(key) ?? { owner, id, name, before: {}, after: {} }
  for (const column of toldColumns.filter((one) => Object.hasOwn(entry.after, one))) {
    if (!Object.hasOwn(app.before, column)) app.before[column] = entry.before?.[column]
    app.after[column] = entry.after[column]
  }
  apps.set(key, app)
}

/** What has changed, as its owner reads it; empty if nothing has, or the app is deleted. */
function outcomeOf({ before, after }: AppNews): string {
  if (typeof after.deleted_at === 'string') return ''
  const isRestored = before.deleted_at !== after.deleted_at
  const isDecided =
    before.status !== after.status || before.rejection_reason !== after.rejection_reason
  const decided = {
    approved: 'was approved',
    pending: 'will be decided again, and is hidden until then',
    rejected: before.status === 'approved' ? 'was taken down' : 'was rejected',
  }[String(after.status)]
  return [isRestored && 'was restored', isDecided && decided].filter(Boolean).join(' and ')
}

/**
 * Returns the problem if the mail was not accepted. There is none without news, ending keys or an
 * address.
 */
async function mailOwner(
  id: number,
  apps: AppNews[],
  keys: EndingKey[],
  { baseUrl, contact }: Site,
  database: DatabaseWithTools,
): Promise<string | undefined> {
  const owner = await database.read(({ sql }) =>
    sql('developers').where({ id }).first('name', 'contact'),
  )
  const news = apps.map((app) => ({ ...app, outcome: outcomeOf(app) })).filter((app) => app.outcome)
  if (!owner?.contact || news.length + keys.length === 0) return undefined
  const decisions =
    news.length > 1
      ? [`${news.length} decisions about your apps`]
      : news.map((app) => `${app.name} ${app.outcome}`)
  const ends =
    keys.length > 1 ? [`${keys.length} API keys end soon`] : keys.map(() => 'An API key ends soon')
  const subject = [...decisions, ...ends].join('; ')
  const paragraphs = news
    .slice(0, maxShown)
    .map((app) =>
      [
        `${app.name} (app ${app.id}) ${app.outcome}.`,
        ...reasonLines(app.after.rejection_reason),
        `${baseUrl}/apps/${app.id}`,
      ].join('\n'),
    )
  const more = news.length - maxShown
  if (more > 0) paragraphs.push(`And ${more} more, see GET ${baseUrl}/developer/apps`)
  if (keys.length > 0) paragraphs.push(keyLines(keys).join('\n'))
  const name = toSingleLine(owner.name)
  const asked = contact.email ?? contact.url
  paragraphs.push(
    [
      `What you can do: ${baseUrl}/docs#/section/the-life-of-an-app`,
      ...(asked === undefined ? [] : [`Whom to ask: ${asked}`]),
      `You get this mail because it is the contact of ${name} at ${baseUrl}`,
    ].join('\n'),
  )
  const problem = sendMail(owner.contact, subject, paragraphs.join('\n\n'))
  return problem && `no mail to ${name}: ${problem}`
}

/** The paragraph about keys. */
function keyLines(keys: EndingKey[]): string[] {
  const lines = keys.slice(0, maxShown).map(({ id, name, app_id, read_only, expires_at }) => {
    const facts = [
      ...(name === null ? [] : [toSingleLine(name)]),
      ...(app_id === null ? [] : [`app ${app_id}`]),
      ...(read_only === 1 ? ['read-only'] : []),
    ]
    const described = facts.length > 0 ? ` (${facts.join(', ')})` : ''
    return `Your API key ${keyPrefix(id)}${described} ends on ${formatMinute(expires_at)} UTC.`
  })
  const more = keys.length - maxShown
  return [
    ...lines,
    ...(more > 0 ? [`And ${more} more.`] : []),
    keys.length > 1
      ? 'Ask for new ones, and replace them before.'
      : 'Ask for a new one, and replace it before.',
  ]
}

/** Further lines of a reason are indented, so that they look like no other part. */
const reasonLines = (reason: unknown): string[] =>
  typeof reason === 'string'
    ? [`Reason: ${sanitize(reason)}`.split(/[\n\u2028\u2029]/).join('\n    ')]
    : []
