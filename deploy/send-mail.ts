import { spawnSync } from 'node:child_process'
import { chunk } from '../src/util/helpers.ts'
import { toSingleLine } from '../src/util/text.ts'

/** Milliseconds for a delivery. */
export const timeout = 30_000

/** Characters of a line that `sendmail` wrote. */
const maxLine = 200

/**
 * Sends a mail with the system's `sendmail`. The addresses must be valid for a header. Returns the
 * problem, with the last lines that `sendmail` wrote, unless it has accepted the mail.
 */
export function sendMail(to: string, subject: string, text: string): string | undefined {
  // In base64 no line is a header, is too long or ends the message.
  const body = Buffer.from(`${text}\n`).toString('base64').replaceAll(/.{76}/g, '$&\n')
  const headers = [
    `To: ${to}`,
    `Subject: ${encodeHeader(subject)}`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
  ]
  const input = `${headers.join('\n')}\n\n${body}\n`
  const { status, signal, error, stdout, stderr } = spawnSync('sendmail', ['-t', '-i'], {
    input,
    timeout,
    // It may ignore the default, SIGTERM.
    killSignal: 'SIGKILL',
    encoding: 'utf8',
  })
  if (status === 0) return undefined
  const code = error && 'code' in error ? error.code : undefined
  const limit = `did not end within ${timeout / 1000} seconds`
  const how = code === 'ETIMEDOUT' ? limit : code ? `failed: ${code}` : `was ended by ${signal}`
  // msmtp writes the reason on the line before the last.
  const lines = [stdout, stderr].join('\n').split(/\n\s*/).filter(Boolean).slice(-2)
  const said = lines.map((line) => `: ${toSingleLine(line.slice(0, maxLine))}`).join('')
  return `sendmail ${status === null ? how : `exited with ${status}`}${said}`
}

/** Characters of an encoded word: with four bytes each, it has 75 ASCII characters at most. */
const wordLength = 11

/** A text on one line as the value of a header, RFC 2047. Plain ASCII remains as it is. */
function encodeHeader(text: string): string {
  if (/^[ -~]*$/.test(text) && !text.includes('=?')) return text
  return [...chunk([...text], wordLength)]
    .map((word) => `=?UTF-8?B?${Buffer.from(word.join('')).toString('base64')}?=`)
    .join('\n ')
}
