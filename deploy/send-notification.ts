import { spawnSync } from 'node:child_process'
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
import type { AuditEntry } from '../src/audit/audit-store.ts'
import { actorOf } from '../src/audit/describe-entry.ts'
import { toSingleLine } from '../src/util/text.ts'

/** Environment variables. */
type Settings = Record<string, string | undefined>

/** Runs a command with `--json`, and returns what it printed. */
type Ask = <Json>(...args: string[]) => Promise<Json>

type Status = { catalogue: { apps: { pending: number; changed: number } } }

/** Entries that are read at once. */
const batchSize = 1000
/** In a message. Characters of a name and a reason. */
const maxDecisions = 20
const maxName = 100
const maxReason = 200
/** Milliseconds for a delivery. */
const timeout = 30_000

/**
 * Tells people about decisions and waiting apps, through a chat's webhook or by mail. It writes its
 * place, the last audit entry that it has sent, beside the old one before the delivery, and
 * replaces the old one afterwards. So nothing is lost, a full disk repeats no message, and a crash
 * in between repeats one. The first run sends nothing.
 */
export async function sendNotification(settings: Settings, ask: Ask) {
  const { MODERATION_URL, STATE_DIRECTORY } = settings
  const deliver = chooseDelivery(settings)
  if (!STATE_DIRECTORY) throw new Error('set STATE_DIRECTORY to the directory of its place')
  const file = join(STATE_DIRECTORY, 'notified')
  const place = readPlace(file)
  const [newestEntry] = await ask<AuditEntry[]>('audit', '--limit', '1')
  const newest = newestEntry?.id ?? 0
  if (place === undefined) return writePlace(file, newest)()
  if (place > newest) {
    writePlace(file, newest)()
    throw new Error(`the audit log ends before entry ${place}; the next run continues at its end`)
  }
  if (place === newest) return
  const { decisions, waiting, last } = await readNews(place, ask)
  const { catalogue } = await ask<Status>('status')
  const { pending, changed } = catalogue.apps
  const moveToPlace = writePlace(file, last)
  if (decisions.length > 0 || waiting.size > 0) {
    const more = decisions.length - maxDecisions
    const lines = [
      `Decisions: ${decisions.length}`,
      ...decisions.slice(0, maxDecisions).map(describe),
      ...(more > 0 ? [`… and ${more} more: ./apps-service audit --after ${place}`] : []),
      `New or changed by their owners: ${waiting.size}`,
      `Waiting: ${pending} pending, ${changed} changed. ${MODERATION_URL ?? ''}`.trim(),
    ]
    await deliver(`${lines[0]}; waiting: ${pending + changed}`, lines.join('\n'))
  }
  moveToPlace()
}

/** Decisions after an entry, the apps that began to wait and were not decided, and the last id. */
async function readNews(place: number, ask: Ask) {
  const decisions: AuditEntry[] = []
  const waiting = new Set<number | null>()
  for (let last = place; ; ) {
    const entries = await ask<AuditEntry[]>(
      'audit',
      '--after',
      `${last}`,
      '--limit',
      `${batchSize}`,
    )
    for (const entry of entries) {
      const { action, app_id, key_id } = entry
      const isDecision = action === 'app approve' || action === 'app reject'
      if (isDecision) decisions.push(entry)
      if (isDecision || action === 'app delete') waiting.delete(app_id)
      else if (key_id !== null && action.startsWith('app ')) waiting.add(app_id)
    }
    last = entries.at(-1)?.id ?? last
    if (entries.length < batchSize) return { decisions, waiting, last }
  }
}

function describe(entry: AuditEntry): string {
  const { action, app_id, app_slug, after } = entry
  const decision = action === 'app approve' ? 'approved' : 'rejected'
  const reason = typeof after.rejection_reason === 'string' ? after.rejection_reason : ''
  const by = `${decision} by ${quote(actorOf(entry) ?? '', maxName)}`
  return `App ${app_id} ${app_slug} ${by}${reason && `: ${quote(reason, maxReason)}`}`
}

/**
 * In a code span, in which Slack and Mattermost read no other markup and no mentions, except that
 * Slack reads `<!channel>`.
 */
function quote(text: string, maxLength: number): string {
  const characters = [...toSingleLine(text)]
  const cut =
    characters.length > maxLength ? [...characters.slice(0, maxLength - 1), '…'] : characters
  const replaced: Record<string, string> = { '`': "'", '<': '‹', '>': '›' }
  return `\`${cut.map((character) => replaced[character] ?? character).join('')}\``
}

type Deliver = (subject: string, text: string) => Promise<void>

function chooseDelivery({ NOTIFY_WEBHOOK, NOTIFY_MAIL }: Settings): Deliver {
  if (!NOTIFY_WEBHOOK === !NOTIFY_MAIL) throw new Error('set NOTIFY_WEBHOOK or NOTIFY_MAIL')
  if (NOTIFY_WEBHOOK) {
    const url = URL.parse(NOTIFY_WEBHOOK)
    if (url && ['http:', 'https:'].includes(url.protocol)) return (_, text) => post(url, text)
    throw new Error('NOTIFY_WEBHOOK must be an http or https address')
  }
  const to = NOTIFY_MAIL ?? ''
  if (/^[!-~]+@[!-~]+( [!-~]+@[!-~]+)*$/.test(to)) return async (...texts) => sendMail(to, ...texts)
  throw new Error('NOTIFY_MAIL must be e-mail addresses, separated by a comma and a space')
}

/** Errors do not have the address, which is a secret. */
async function post(url: URL, text: string) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ text }),
    redirect: 'manual',
    signal: AbortSignal.timeout(timeout),
  }).catch(({ cause, name }) => {
    throw new Error(`the webhook cannot be reached: ${cause?.code ?? name}`)
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`the webhook responded with ${response.status}`)
}

/** The text is base64, so that no line of it is a header, is too long or ends the message. */
function sendMail(to: string, subject: string, text: string) {
  const body = Buffer.from(`${text}\n`).toString('base64').replaceAll(/.{76}/g, '$&\n')
  const headers = [
    `To: ${to}`,
    `Subject: Apps Service: ${subject}`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
  ]
  const input = `${headers.join('\n')}\n\n${body}\n`
  const { status, error } = spawnSync('sendmail', ['-t', '-i'], { input, timeout })
  if (error) throw new Error(`sendmail cannot be run: ${(error as NodeJS.ErrnoException).code}`)
  if (status !== 0) throw new Error(`sendmail exited with ${status}`)
}

function readPlace(file: string): number | undefined {
  if (!existsSync(file)) return undefined
  const text = readFileSync(file, 'utf8')
  if (/^\d{1,15}\n$/.test(text)) return Number(text)
  throw new Error(`${file} does not have the id of an audit entry; remove it to begin at the end`)
}

/**
 * Writes a place beside the file, and returns what replaces the file by it. A crash leaves the old
 * place or the new one.
 */
function writePlace(file: string, id: number): () => void {
  writeFileSync(`${file}.new`, `${id}\n`, { flush: true })
  return () => {
    renameSync(`${file}.new`, file)
    // Otherwise a power cut could bring the old place back: man 2 fsync.
    const directory = openSync(dirname(file), 'r')
    fsyncSync(directory)
    closeSync(directory)
  }
}
