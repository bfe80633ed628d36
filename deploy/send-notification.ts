import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type AuditEntry, findLastEntryId } from '../src/audit/audit-store.ts'
import { fileErrorReason } from '../src/cli/file-errors.ts'
import { messageOf } from '../src/cli/output.ts'
import { baseUrlFormat, parseBaseUrl } from '../src/config.ts'
import type { Database } from '../src/db/database.ts'
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
import { mailOwners, outcomes } from './owner-mails.ts'
import { sendMail, timeout } from './send-mail.ts'

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
 * about decisions, by mail. Each of the two has its place, so that a failure of one repeats nothing of
 * the other. Throws the problems of both.
 */
export async function sendNotification(settings: Settings, database: Database) {
  const { deliver, moderationUrl, ownersBaseUrl, directory } = readSettings(settings)
  const problems: string[] = []
  const tell = (file: string, send: Send) =>
    tellNews(join(directory, file), database, send).catch((error) => {
      problems.push(messageOf(error))
    })
  if (deliver)
    await tell('notified', async (news, place) => {
      if (news.decisions === 0 && news.waiting.size === 0) return
      const counts = await database.read(countQueues)
      await deliver({ ...news, ...counts, place, moderationUrl })
    })
  if (ownersBaseUrl)
    await tell('notified-owners', async ({ forOwners }) => {
      problems.push(...(await mailOwners(forOwners.values(), ownersBaseUrl, database)))
    })
  if (problems.length > 0) throw new Error(problems.join('; '))
}

/** Sends the news after a place. If it throws, the next run sends them again. */
type Send = (news: News, place: number) => Promise<void>

/**
 * Tells what is new. It writes its place, the last audit entry that it has told, beside the old one
 * before, and replaces the old one afterwards. So nothing is lost, a full disk repeats no message, and
 * a crash in between repeats what it told. The first run tells nothing.
 */
async function tellNews(file: string, database: Database, send: Send) {
  const place = readPlace(file)
  const newest = await database.read(findLastEntryId)
  if (place === undefined) return writePlace(file, newest)()
  if (place > newest) {
    writePlace(file, newest)()
    throw new Error(`the audit log ends before entry ${place}; the next run continues at its end`)
  }
  if (place === newest) return
  const { last, ...news } = await readNews(place, database)
  const moveToPlace = writePlace(file, last)
  await send(news, place)
  moveToPlace()
}

type News = {
  /** The number of decisions. */
  decisions: number
  /** The last decision about each app. */
  decided: Map<number, AuditEntry>
  /** The last decision or restoration of each app that was not deleted since. */
  forOwners: Map<number, AuditEntry>
  /** Names of the apps that began to wait and were not decided since, by their ids. */
  waiting: Map<number, string>
}

/** The events after an entry, and the last id. */
async function readNews(place: number, database: Database): Promise<News & { last: number }> {
  const news: News = { decisions: 0, decided: new Map(), forOwners: new Map(), waiting: new Map() }
  let last = place
  for await (const entry of entriesAfter(database, place)) {
    addEntry(news, entry)
    last = entry.id
  }
  return { ...news, last }
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
  if (action === 'app delete') news.forOwners.delete(app_id)
  else if (Object.hasOwn(outcomes, action)) news.forOwners.set(app_id, entry)
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
  const { NOTIFY_WEBHOOK, NOTIFY_MAIL, NOTIFY_FORMAT, NOTIFY_OWNERS } = settings
  const { BASE_URL, MODERATION_URL, STATE_DIRECTORY } = settings
  const problems: string[] = []
  const url = NOTIFY_WEBHOOK ? URL.parse(NOTIFY_WEBHOOK) : null
  if (NOTIFY_WEBHOOK && NOTIFY_MAIL) problems.push('set only one of NOTIFY_WEBHOOK and NOTIFY_MAIL')
  if (!NOTIFY_WEBHOOK && !NOTIFY_MAIL && !NOTIFY_OWNERS)
    problems.push('set NOTIFY_WEBHOOK, NOTIFY_MAIL or NOTIFY_OWNERS=1')
  if (NOTIFY_WEBHOOK && !['http:', 'https:'].includes(url?.protocol ?? ''))
    problems.push('NOTIFY_WEBHOOK must be an http or https address')
  if (NOTIFY_MAIL && !/^[!-~]+@[!-~]+( [!-~]+@[!-~]+)*$/.test(NOTIFY_MAIL))
    problems.push('NOTIFY_MAIL must be e-mail addresses, separated by a comma and a space')
  const format = new Map(Object.entries(formats)).get(NOTIFY_FORMAT || defaultFormat)
  if (!format) problems.push(`NOTIFY_FORMAT must be one of ${Object.keys(formats).join(', ')}`)
  if (NOTIFY_OWNERS && NOTIFY_OWNERS !== '1') problems.push('NOTIFY_OWNERS must be 1')
  const base = NOTIFY_OWNERS && BASE_URL ? parseBaseUrl(BASE_URL) : undefined
  if (NOTIFY_OWNERS && !base) problems.push(`BASE_URL must be ${baseUrlFormat}`)
  const moderation = MODERATION_URL ? parseBaseUrl(MODERATION_URL) : { baseUrl: undefined }
  if (!moderation) problems.push(`MODERATION_URL must be ${baseUrlFormat}`)
  if (!STATE_DIRECTORY) problems.push('set STATE_DIRECTORY to the directory of its places')
  if (problems.length > 0 || !format || !STATE_DIRECTORY) throw new Error(problems.join('; '))

  let deliver: Deliver | undefined
  if (url) deliver = (facts) => post(url, format, facts)
  else if (NOTIFY_MAIL) deliver = async (facts) => mailModerators(NOTIFY_MAIL, facts)
  return {
    deliver,
    moderationUrl: moderation?.baseUrl,
    ownersBaseUrl: base?.baseUrl,
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

function readPlace(file: string): number | undefined {
  if (!existsSync(file)) return undefined
  const text = inStateDirectory(file, () => readFileSync(file, 'utf8'))
  if (/^\d{1,15}\n$/.test(text)) return Number(text)
  throw new Error(`${file} does not have the id of an audit entry; remove it to begin at the end`)
}

/**
 * Writes a place beside the file, and returns what replaces the file by it. A crash leaves the old
 * place or the new one.
 */
function writePlace(file: string, id: number): () => void {
  const newFile = `${file}.new`
  inStateDirectory(newFile, () => writeFileSync(newFile, `${id}\n`, { flush: true }))
  return () =>
    inStateDirectory(file, () => {
      renameSync(newFile, file)
      // Otherwise a power cut could bring the old place back: man 2 fsync.
      const directory = openSync(dirname(file), 'r')
      fsyncSync(directory)
      closeSync(directory)
    })
}

/** Runs work on a file; its error names the setting. */
function inStateDirectory<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const reason = fileErrorReason(error as Error)
    throw new Error(`cannot use ${file} in STATE_DIRECTORY: ${reason}`)
  }
}
