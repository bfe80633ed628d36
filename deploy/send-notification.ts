import { join } from 'node:path'
import type { AuditEntry } from '../src/audit/read-entries.ts'
import { messageOf } from '../src/cli/output.ts'
import { baseUrlFormat, contactFormat, parseBaseUrl, parseContact } from '../src/config.ts'
import type { DatabaseWithTools } from '../src/db/tools.ts'
import { actorOf } from '../src/moderation/describe-entry.ts'
import { entriesAfter } from '../src/moderation/entries.ts'
import { countQueues } from '../src/moderation/status.ts'
import { formatCommand } from '../src/util/command.ts'
import { toSingleLine } from '../src/util/text.ts'
import {
  type Format,
  formats,
  type Line,
  type Message,
  neutralizePlain,
  toText,
} from './notification-formats.ts'
import { openState, type Report, type State } from './notification-state.ts'
import { tellOwners } from './owner-mails.ts'
import { sendMail, timeout } from './send-mail.ts'
import { claimState, writeState } from './state-files.ts'

/** Environment variables. */
type Settings = Record<string, string | undefined>

/** In a message. Characters of a name and a reason. */
const maxApps = 10
const maxName = 100
const maxReason = 200
/** The format of the versions that had no other. */
const defaultFormat = 'slack'

/**
 * Tells moderators about decisions and waiting apps, through a chat's webhook or by mail, and owners
 * about decisions, by mail. Each of the two has its state, so that a failure of one repeats nothing of
 * the other. Returns false, having done nothing, if another run has not ended.
 */
export async function sendNotification(
  settings: Settings,
  database: DatabaseWithTools,
  report: Report,
): Promise<boolean> {
  const { deliver, moderationUrl, site, directory } = readSettings(settings)
  using claim = claimState(join(directory, 'notified.lock'))
  if (!claim) return false
  const reportError = (error: unknown) => report(messageOf(error as Error))
  if (deliver)
    await tellModerators(
      join(directory, 'notified'),
      deliver,
      moderationUrl,
      database,
      report,
    ).catch(reportError)
  if (site)
    await tellOwners(join(directory, 'notified-owners'), site, database, report).catch(reportError)
  return true
}

/**
 * Writes the new state before the delivery, and puts it in place afterwards: nothing is lost, a full
 * disk repeats no message, and a crash in between repeats one.
 */
async function tellModerators(
  file: string,
  deliver: Deliver,
  moderationUrl: string | undefined,
  database: DatabaseWithTools,
  report: Report,
) {
  const state = await openState(file, database, report)
  const news: News = { decisions: 0, decided: new Map(), waiting: new Map() }
  let end: State = state
  for await (const entry of entriesAfter(database, state.place)) {
    addEntry(news, entry)
    end = { ...state, place: entry.id, time: entry.at }
  }
  if (end === state) return
  const store = writeState(file, end)
  if (news.decisions > 0 || news.waiting.size > 0) {
    const counts = await database.read(countQueues)
    await deliver({ ...news, ...counts, place: state.place, moderationUrl })
  }
  store()
}

type News = {
  /** The number of decisions. */
  decisions: number
  /** The last decision about each app. */
  decided: Map<number, AuditEntry>
  /** Names of the apps that began to wait and were not decided since, by their ids. */
  waiting: Map<number, string>
}

/** Each decision, by its action in the audit log. */
const decisionWords: Record<string, string> = {
  'app approve': 'approved',
  'app reject': 'rejected',
  'app reopen': 'reopened',
}

function addEntry(news: News, entry: AuditEntry) {
  const { action, app_id, app_name, key_id } = entry
  if (app_id === null) return
  const isDecision = Object.hasOwn(decisionWords, action)
  if (isDecision) {
    news.decisions++
    // Moves it to the end.
    news.decided.delete(app_id)
    news.decided.set(app_id, entry)
  }
  if (isDecision || action === 'app delete') news.waiting.delete(app_id)
  else if (key_id !== null && action.startsWith('app ')) news.waiting.set(app_id, app_name ?? '')
}

type Facts = News & {
  pending: number
  changed: number
  place: number
  moderationUrl: string | undefined
}

/** A message that names each app once, and at most as many as `shown`. */
function describe(facts: Facts, neutralize: Format['neutralize'], shown: number): Message {
  const { decisions, decided, waiting, pending, changed, place, moderationUrl } = facts
  const quote = (text: string, maxLength: number) => `\`${neutralize(shorten(text, maxLength))}\``
  const toLine = (id: number, name: string | null, rest = ''): Line => ({
    text: `App ${id} ${quote(name ?? '', maxName)}${rest}`,
    url: moderationUrl && `${moderationUrl}/apps/${id}`,
  })

  const decidedLines = [...decided].map(([id, entry]) => {
    const by = ` ${decisionWords[entry.action]} by ${quote(actorOf(entry) ?? '', maxName)}`
    const since = waiting.has(id) ? ', changed since' : ''
    const reason = entry.after.rejection_reason
    const why = typeof reason === 'string' ? `: ${quote(reason, maxReason)}` : ''
    return toLine(id, entry.app_name, by + since + why)
  })
  const waitingLines = [...waiting]
    .filter(([id]) => !decided.has(id))
    .map(([id, name]) => toLine(id, name))
  const more = decidedLines.length + waitingLines.length - shown

  return {
    title: `Decisions: ${decisions}; waiting: ${pending + changed}`,
    url: moderationUrl,
    lines: [
      { text: `Decisions: ${decisions}` },
      ...decidedLines.slice(0, shown),
      { text: `New or changed by their owners: ${waiting.size}` },
      ...waitingLines.slice(0, Math.max(0, shown - decidedLines.length)),
      ...(more > 0
        ? [{ text: `… and ${more} more: ${formatCommand(`audit --after ${place}`)}` }]
        : []),
      { text: `Waiting: ${pending} pending, ${changed} changed.`, url: moderationUrl },
    ],
  }
}

/** On one line. */
function shorten(text: string, maxLength: number): string {
  const characters = [...toSingleLine(text)]
  if (characters.length <= maxLength) return characters.join('')
  return `${characters.slice(0, maxLength - 1).join('')}…`
}

type Deliver = (facts: Facts) => Promise<void>

/** Throws an error that reports all problems together. It has no value, which may be a secret. */
function readSettings(settings: Settings) {
  const { NOTIFY_WEBHOOK, NOTIFY_MAIL, NOTIFY_FORMAT, NOTIFY_OWNERS = '' } = settings
  const { BASE_URL = '', CONTACT_URL = '', MODERATION_URL, STATE_DIRECTORY } = settings
  const problems: string[] = []
  const url = NOTIFY_WEBHOOK ? URL.parse(NOTIFY_WEBHOOK) : null
  if (NOTIFY_WEBHOOK && NOTIFY_MAIL) problems.push('set only one of NOTIFY_WEBHOOK and NOTIFY_MAIL')
  const tellsOwners = !['', '0'].includes(NOTIFY_OWNERS)
  if (!NOTIFY_WEBHOOK && !NOTIFY_MAIL && !tellsOwners)
    problems.push('set NOTIFY_WEBHOOK, NOTIFY_MAIL or NOTIFY_OWNERS=1')
  if (NOTIFY_WEBHOOK && !['http:', 'https:'].includes(url?.protocol ?? ''))
    problems.push('NOTIFY_WEBHOOK must be an http or https address')
  if (NOTIFY_MAIL && !/^[!-~]+@[!-~]+( [!-~]+@[!-~]+)*$/.test(NOTIFY_MAIL))
    problems.push('NOTIFY_MAIL must be e-mail addresses, separated by a comma and a space')
  const format = new Map(Object.entries(formats)).get(NOTIFY_FORMAT || defaultFormat)
  if (!format) problems.push(`NOTIFY_FORMAT must be one of ${Object.keys(formats).join(', ')}`)
  if (tellsOwners && NOTIFY_OWNERS !== '1') problems.push('NOTIFY_OWNERS must be 0 or 1')
  const base = parseBaseUrl(BASE_URL)
  const contact = parseContact(CONTACT_URL)
  if (tellsOwners && !base) problems.push(`BASE_URL must be ${baseUrlFormat}`)
  if (tellsOwners && !contact) problems.push(`CONTACT_URL must be ${contactFormat}`)
  const moderation = MODERATION_URL ? parseBaseUrl(MODERATION_URL) : { baseUrl: undefined }
  if (!moderation) problems.push(`MODERATION_URL must be ${baseUrlFormat}`)
  if (!STATE_DIRECTORY) problems.push('set STATE_DIRECTORY to the directory of its state')
  if (problems.length > 0 || !format || !STATE_DIRECTORY) throw new Error(problems.join('; '))

  let deliver: Deliver | undefined
  if (url) deliver = (facts) => post(url, format, facts)
  else if (NOTIFY_MAIL) deliver = async (facts) => mailModerators(NOTIFY_MAIL, facts)
  return {
    deliver,
    moderationUrl: moderation?.baseUrl,
    site: tellsOwners && base && contact ? { baseUrl: base.baseUrl, contact } : undefined,
    directory: STATE_DIRECTORY,
  }
}

function mailModerators(to: string, facts: Facts) {
  const message = describe(facts, neutralizePlain, maxApps)
  const problem = sendMail(to, `Apps Service: ${message.title}`, toText(message))
  if (problem !== undefined) throw new Error(problem)
}

/** With as many apps as fit. Errors do not have the address, which is a secret. */
async function post(url: URL, { neutralize, toRequest, fits }: Format, facts: Facts) {
  let shown = maxApps
  let message = describe(facts, neutralize, shown)
  while (shown > 0 && !fits(message)) message = describe(facts, neutralize, --shown)
  const response = await fetch(url, {
    method: 'POST',
    ...toRequest(message),
    redirect: 'manual',
    signal: AbortSignal.timeout(timeout),
  }).catch((error: Error) => {
    throw new Error(`the webhook cannot be reached: ${reasonOf(error)}`)
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`the webhook responded with ${response.status}`)
}

/** The code of an error of `fetch`, or what a proxy (NODE_USE_ENV_PROXY) answered instead. */
function reasonOf({ name, cause }: Error): string {
  if (!(cause instanceof Error)) return name
  // undici's message, https://github.com/nodejs/undici/blob/v7.29.1/lib/dispatcher/proxy-agent.js
  const reason = cause.cause instanceof Error ? cause.cause.message : ''
  const status = /^Proxy response \((\d+)\)/.exec(reason)?.[1]
  if (status !== undefined) return `the proxy answered ${status}`
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}
