import { isUtf8 } from 'node:buffer'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { OperatorError } from '../contract/errors.ts'

/** Reads the text files of commands, which must be UTF-8. */

/**
 * A line of a file, counted from 1, or its bytes and why they cannot be used. Of a line that is too
 * long, these are the first ones.
 */
type TextLine = { number: number } & ({ text: string } | { bytes: Buffer; problem: string })

/**
 * Far more than an app with all its reviews. Without a limit, a file without line feeds would fill
 * the memory.
 */
const maxLineBytes = 16 * 1024 * 1024

/**
 * Yields the lines of a file, compressed with gzip or not. Blank lines are counted and left out.
 * Throws an OperatorError if the file is of another format.
 */
export async function* readLines(source: AsyncIterable<Buffer>): AsyncGenerator<TextLine> {
  let number = 0
  let isFirst = true
  for await (const { bytes, isTooLong } of splitLines(await gunzipIfNeeded(source))) {
    number++
    const text = number === 1 ? decode(bytes) : bytes.toString()
    if (text.trim() === '' && !isTooLong) continue
    if (isFirst) assertObject(text.trim(), isTooLong)
    isFirst = false
    if (isTooLong)
      yield { number, bytes, problem: `is longer than ${maxLineBytes / 1024 / 1024} MiB` }
    else if (!isUtf8(bytes)) yield { number, bytes, problem: 'is not UTF-8' }
    else yield { number, text }
  }
}

/** A byte order mark does not belong to the text (RFC 8259, section 8.1). */
const decode = (bytes: Buffer) => bytes.toString().replace(/^\uFEFF/, '')

const oneObjectPerLine = 'it must have one JSON object per line (NDJSON)'

/**
 * Throws an OperatorError if the first line is of another format, which would make a reject of each
 * line.
 */
function assertObject(line: string, isTruncated: boolean) {
  if (line.startsWith('['))
    throw new OperatorError(
      `the file is a JSON array; ${oneObjectPerLine}. Convert it with: jq -c '.[]'`,
    )
  if (!line.startsWith('{'))
    throw new OperatorError(
      `its first line begins with ${JSON.stringify(line.slice(0, 40))}; ${oneObjectPerLine}`,
    )
  if (!isTruncated && /[{[,]$/.test(line))
    throw new OperatorError(
      `the file has JSON objects over several lines; ${oneObjectPerLine}. Convert it with: jq -c .`,
    )
}

const maxTextBytes = 16 * 1024 * 1024

/**
 * The whole text of a file that is not compressed. Throws an OperatorError if it is larger than
 * 16 MiB or not UTF-8.
 */
export async function readText(source: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of source) {
    length += chunk.length
    if (length > maxTextBytes)
      throw new OperatorError(`it is larger than ${maxTextBytes / 1024 / 1024} MiB`)
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  refuseFormats(bytes, { ...otherFormats, 'compressed with gzip': gzip }, 'plain text in UTF-8')
  if (isUtf8(bytes)) return decode(bytes)
  const lines = bytes.toString('latin1').split('\n')
  const invalid = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')))
  throw new OperatorError(`line ${invalid + 1} is not UTF-8`)
}

/** Chunks kept of a line that is too long, to recognize its format. */
const keptChunks = 4

/** Splits at line feeds. A line that is too long is truncated. */
async function* splitLines(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<{ bytes: Buffer; isTooLong: boolean }> {
  let parts: Buffer[] = []
  let length = 0
  const add = (part: Buffer) => {
    length += part.length
    if (length > maxLineBytes) parts = parts.slice(0, keptChunks)
    else parts.push(part)
  }
  const takeLine = () => {
    const line = { bytes: Buffer.concat(parts), isTooLong: length > maxLineBytes }
    parts = []
    length = 0
    return line
  }
  for await (const chunk of chunks) {
    let begin = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, begin)) {
      add(chunk.subarray(begin, end))
      yield takeLine()
      begin = end + 1
    }
    add(chunk.subarray(begin))
  }
  if (length > 0) yield takeLine()
}

/** Formats by the first four bytes of a file in hexadecimal. These are not read. */
const otherFormats: Record<string, RegExp> = {
  'in UTF-16': /^(fffe|feff|[0-7].00[0-7].00|00[0-7].00[0-7].)/,
  'a zip archive': /^504b0304/,
  'compressed with xz': /^fd377a58/,
  'compressed with zstd': /^28b52ffd/,
}

const gzip = /^1f8b/

const beginOf = (bytes: Buffer) => bytes.toString('hex', 0, 4)

/** Throws an OperatorError that names the format if the bytes are of one of these. */
function refuseFormats(bytes: Buffer, formats: Record<string, RegExp>, expected: string) {
  for (const [format, pattern] of Object.entries(formats)) {
    if (pattern.test(beginOf(bytes)))
      throw new OperatorError(`the file is ${format}; it must be ${expected}`)
  }
}

async function gunzipIfNeeded(source: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer>> {
  const iterator = source[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  while (head.length < 4) {
    const { value, done } = await iterator.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  refuseFormats(head, otherFormats, 'UTF-8, compressed with gzip or not')
  const whole = prepend(head, iterator)
  return gzip.test(beginOf(head)) ? gunzip(whole) : whole
}

async function* gunzip(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    // An error of either stream destroys the last one, whose reader gets it.
    yield* pipeline(Readable.from(source), createGunzip(), () => {})
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code?.startsWith('Z_') ? new OperatorError(`its gzip data is damaged: ${message}`) : error
  }
}

async function* prepend(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}
