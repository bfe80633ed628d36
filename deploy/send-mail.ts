import { spawnSync } from 'node:child_process'
import { chunk } from '../src/util/helpers.ts'

/** Milliseconds for a delivery. */
export const timeout = 30_000

/**
 * Sends a mail with the system's `sendmail`. The addresses must be valid for a header. Returns the
 * problem if it does not take the mail, and throws an error if it cannot be run.
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
  const { status, error } = spawnSync('sendmail', ['-t', '-i'], { input, timeout })
  if (status === 0) return undefined
  if (status !== null) return `sendmail exited with ${status}`
  const code = error && 'code' in error ? error.code : undefined
  if (code === 'ETIMEDOUT') return `sendmail did not end within ${timeout / 1000} seconds`
  throw new Error(`sendmail cannot be run: ${code}`)
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
