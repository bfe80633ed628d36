import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readLines, readText } from '../../src/import-export/read-lines.ts'
import { seed } from '../support/random.ts'

async function* chunksOf(bytes: Buffer, size: number) {
  for (let begin = 0; begin < bytes.length; begin += size) yield bytes.subarray(begin, begin + size)
}

async function read(source: Buffer, size = 7) {
  const lines = []
  for await (const line of readLines(chunksOf(source, size))) lines.push(line)
  return lines
}

test.for<[what: string, bytes: Buffer | string, lines: object[]]>([
  ['nothing', '', []],
  ['a line', '{a\n', [{ number: 1, text: '{a' }]],
  [
    'a last line without a line feed',
    '{a\nb',
    [
      { number: 1, text: '{a' },
      { number: 2, text: 'b' },
    ],
  ],
  ['blank lines are counted', '\n \n {a\n', [{ number: 3, text: ' {a' }]],
  [
    'CRLF line ends',
    '{a\r\nb\r\n',
    [
      { number: 1, text: '{a\r' },
      { number: 2, text: 'b\r' },
    ],
  ],
  ['a byte order mark', '\uFEFF{a\n', [{ number: 1, text: '{a' }]],
  [
    'a byte order mark after the first line',
    '{a\n\uFEFFb\n',
    [
      { number: 1, text: '{a' },
      { number: 2, text: '\uFEFFb' },
    ],
  ],
  [
    'bytes that are not UTF-8',
    Buffer.from('7bff0a620a', 'hex'),
    [
      { number: 1, bytes: Buffer.from('7bff', 'hex'), problem: 'is not UTF-8' },
      { number: 2, text: 'b' },
    ],
  ],
  [
    'gzip',
    gzipSync('{a\nb\n'),
    [
      { number: 1, text: '{a' },
      { number: 2, text: 'b' },
    ],
  ],
])('%s', async ([, bytes, lines]) => {
  expect(await read(Buffer.from(bytes))).toEqual(lines)
})

test('a line that is too long is reported, and the next one read', async () => {
  const longest = Buffer.alloc(16 * 1024 * 1024, '{')
  const [first, second, third] = await read(
    Buffer.concat([longest, Buffer.from('x\nb\n'), longest]),
    65_536,
  )
  expect([first, second]).toEqual([
    { number: 1, bytes: longest.subarray(0, 4 * 65_536), problem: 'is longer than 16 MiB' },
    { number: 2, text: 'b' },
  ])
  expect(third && 'text' in third && third.text.length).toBe(longest.length)
})

test('a line without an end is not kept in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc')
  const chunks: WeakRef<Buffer>[] = []
  let kept = 0
  async function* endless() {
    for (let count = 0; count < 32; count++) {
      const chunk = Buffer.alloc(1024 * 1024, '{')
      chunks.push(new WeakRef(chunk))
      yield chunk
    }
    // In a later turn of the event loop, the references do not keep their chunks.
    await setImmediate()
    collectGarbage()
    kept = chunks.filter((chunk) => chunk.deref()).length
  }
  for await (const line of readLines(endless())) expect(line).toHaveProperty('problem')
  expect(kept).toBeLessThan(10)
})

test.for<[what: string, damage: (whole: Buffer) => Buffer, problem: string]>([
  [
    'a truncated gzip file',
    (whole) => whole.subarray(0, whole.length - 10),
    'unexpected end of file',
  ],
  ['a gzip file without data', (whole) => whole.subarray(0, 2), 'unexpected end of file'],
  [
    'a gzip file with a broken header',
    (whole) => whole.fill(9, 2, 3),
    'unknown compression method',
  ],
  [
    'a gzip file with another checksum',
    (whole) => whole.fill(9, whole.length - 8),
    'incorrect data check',
  ],
])('%s is an error', async ([, damage, problem]) => {
  const whole = gzipSync(Buffer.alloc(10_000, '{}\n'))
  await expect(read(damage(whole))).rejects.toThrow(`its gzip data is damaged: ${problem}`)
})

test('an error of the source is not taken for damage', async () => {
  async function* failing() {
    yield gzipSync('a\n').subarray(0, 15)
    throw new Error('EIO')
  }
  await expect(Array.fromAsync(readLines(failing()))).rejects.toThrow(/^EIO$/)
})

test('chunks may end anywhere', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme' })),
      fc.integer({ min: 1, max: 20 }),
      fc.boolean(),
      async (texts, size, zipped) => {
        const lines = ['{}', ...texts.map((text) => text.replaceAll('\n', ' '))]
        const plain = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const found = await read(zipped ? gzipSync(plain) : plain, size)
        const expected = lines.flatMap((text, index) =>
          text.trim() === '' ? [] : { number: index + 1, text },
        )
        expect(found).toEqual(expected)
      },
    ),
    { seed },
  )
})

test.for<[what: string, bytes: Buffer | string, text: string]>([
  ['blank lines', '\uFEFF\na\r\n \n\nb\n', '\na\r\n \n\nb\n'],
  ['16 MiB', 'x'.repeat(16 * 1024 * 1024), 'x'.repeat(16 * 1024 * 1024)],
])('a text with %s is read whole', async ([, bytes, text]) => {
  expect(await readText(chunksOf(Buffer.from(bytes), bytes.length > 100 ? 65_536 : 7))).toBe(text)
})

test.for<[what: string, bytes: Buffer | string, message: string]>([
  ['in Windows-1252', Buffer.from('a\n\nGr\xf6\xdfe\n\xff', 'latin1'), 'line 3 is not UTF-8'],
  ['larger than 16 MiB', 'x'.repeat(16 * 1024 * 1024 + 1), 'it is larger than 16 MiB'],
  [
    'compressed with gzip',
    gzipSync('Grüße\n'),
    'the file is compressed with gzip; it must be plain text in UTF-8',
  ],
  [
    'in UTF-16',
    Buffer.from('\uFEFFid', 'utf16le'),
    'the file is in UTF-16; it must be plain text in UTF-8',
  ],
])('a text that is %s is refused', async ([, bytes, message]) => {
  await expect(readText(chunksOf(Buffer.from(bytes), 65_536))).rejects.toThrow(message)
})

test.for<[format: string, bytes: Buffer]>([
  ['in UTF-16', Buffer.from('\uFEFF{"name"', 'utf16le')],
  ['in UTF-16', Buffer.from('{"name"', 'utf16le')],
  ['in UTF-16', Buffer.from('{"name"', 'utf16le').swap16()],
  ['a zip archive', Buffer.from('PK\u0003\u0004\u0014', 'latin1')],
  ['compressed with xz', Buffer.from('fd377a585a00', 'hex')],
  ['compressed with zstd', zstdCompressSync('a\nb\n')],
])('refuses a file that is %s', async ([format, bytes]) => {
  for (const size of [1, 7]) {
    await expect(read(bytes, size)).rejects.toThrow(
      `the file is ${format}; it must be UTF-8, compressed with gzip or not`,
    )
  }
})

const array = /^the file is a JSON array; .*\. Convert it with: jq -c '\.\[\]'$/
const overSeveralLines =
  /^the file has JSON objects over several lines; .*\. Convert it with: jq -c \.$/
test.for<{ format: string; bytes: Buffer | string; problem: RegExp }>([
  { format: 'a JSON array', bytes: '[\n  {"name": "A"}\n]\n', problem: array },
  { format: 'a JSON array on one line', bytes: '\uFEFF\n [{"name":"A"}]', problem: array },
  {
    format: 'a long JSON array on one line',
    bytes: `[${'{"name":"A"},'.repeat(1_500_000)}`,
    problem: array,
  },
  { format: 'a JSON array in gzip', bytes: gzipSync('[{"name":"A"}]'), problem: array },
  { format: 'indented JSON', bytes: '{\n  "name": "A"\n}\n', problem: overSeveralLines },
  {
    format: 'JSON with a line break after a comma',
    bytes: '{"name":"A",\r\n"version":"1"}\n',
    problem: overSeveralLines,
  },
  {
    format: 'CSV',
    bytes: 'name,description\nA,B\n',
    problem: /^its first line begins with "name,description"; /,
  },
  {
    format: 'gzip in gzip',
    bytes: gzipSync(gzipSync('{}')),
    problem: /^its first line begins with "\\u001f/,
  },
  {
    format: 'a text with the first byte of gzip',
    bytes: '\u001fa\n',
    problem: /^its first line begins with "\\u001fa"; /,
  },
  {
    format: 'a text with the second byte of gzip',
    bytes: 'ȋ\n',
    problem: /^its first line begins with "ȋ"; /,
  },
])('refuses a file that is $format', async ({ bytes, problem }) => {
  await expect(read(Buffer.from(bytes), 65_536)).rejects.toThrow(problem)
})
