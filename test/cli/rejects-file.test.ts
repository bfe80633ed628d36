import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rejectsWriter } from '../../src/cli/rejects-file.ts'
import { temporaryFolder } from '../support/database.ts'

/** A directory with a file to import. */
function startImport() {
  const folder = temporaryFolder()
  const source = join(folder, 'apps.ndjson')
  writeFileSync(source, '{}\n')
  return { folder, source, path: join(folder, 'rejects'), input: statSync(source) }
}

const problem = { in: 'body', field: '/name', message: 'is wrong' } as const

test.for<{ raw: string | Buffer; about: object }>([
  {
    raw: ' { "name" : "" , "id":7,\t"slug":"moon" } \r',
    about: { id: 7, slug: 'moon' },
  },
  { raw: '{"name":"x","category":{"id":1,"slug":"tools","name":"Tools"}}', about: {} },
  { raw: '{"category":{"id":60,"slug":"Sky","name":"S"}}', about: { id: 60, slug: 'Sky' } },
  { raw: '{"removed":{"id":1,"created_at":"2026-01-01T00:00:00Z"}}', about: { id: 1 } },
  { raw: '{"id":"7","slug":[[]]}', about: {} },
  { raw: '{"slug":"a","slug":"b"}', about: { slug: 'b' } },
  { raw: `{"extra":${'['.repeat(30_000)}`, about: {} },
  { raw: 'null', about: {} },
  { raw: '\u0000', about: {} },
  { raw: Buffer.from('{"slug":"\xff","id":8}', 'latin1'), about: { id: 8, slug: '\uFFFD' } },
])(
  'a line is kept as it is, and its problems say that it is about $about',
  async ({ raw, about }) => {
    const { path, input } = startImport()
    const { add, close, problemsPath = '' } = await rejectsWriter(path, input)
    await add(5, [problem], raw)
    await close()
    expect(readFileSync(path)).toEqual(Buffer.concat([Buffer.from(raw), Buffer.from('\n')]))
    const { field, message } = problem
    expect(JSON.parse(readFileSync(problemsPath, 'utf8'))).toEqual({
      line: 5,
      ...about,
      problems: [{ field, message }],
    })
  },
)

test('the rejects of an earlier import are replaced by the first refused line, or removed', async () => {
  const { path, input } = startImport()
  const both = [path, `${path}.problems`]
  for (const raw of ['first', 'second']) {
    const { add, close } = await rejectsWriter(path, input)
    if (raw === 'second') expect(readFileSync(path, 'utf8')).toBe('first\n')
    await add(1, [problem], raw)
    await close()
    expect(readFileSync(path, 'utf8')).toBe(`${raw}\n`)
  }
  const { close, removeEarlier } = await rejectsWriter(path, input)
  await close()
  expect(both.filter(existsSync)).toEqual(both)
  await removeEarlier()
  expect(both.filter(existsSync)).toEqual([])
})

test('problems that refuse no line stand alone, and replace the rejects of an earlier import', async () => {
  const { path, input } = startImport()
  const first = await rejectsWriter(path, input)
  await first.add(1, [problem], 'x')
  await first.close()
  for (const number of [2, 3]) {
    const { add, close, removeEarlier, problemsPath = '' } = await rejectsWriter(path, input)
    await add(number, [{ ...problem, left_out: true }], 'y')
    expect(existsSync(path)).toBe(false)
    await close()
    await removeEarlier()
    expect(JSON.parse(readFileSync(problemsPath, 'utf8'))).toEqual({
      line: number,
      problems: [{ field: problem.field, message: problem.message, left_out: true }],
    })
  }
})

test('a device gets the lines alone, and is never removed', async () => {
  const { path, input } = startImport()
  // A link, so that a mistake removes only the link.
  symlinkSync('/dev/null', path)
  const { add, close, problemsPath, removeEarlier } = await rejectsWriter(path, input)
  await add(1, [problem], 'x')
  await close()
  await removeEarlier()
  expect(problemsPath).toBeUndefined()
  expect([path, `${path}.problems`].map((file) => existsSync(file))).toEqual([true, false])
})

type Refusal = {
  name: string
  /** Makes what is in the way in the directory. */
  make?: (folder: string) => void
  /** The path of the rejects in the directory, if it is another than `rejects`. */
  path?: string
  reason: RegExp
}
const refusals: Refusal[] = [
  { name: 'the file to import', path: 'apps.ndjson', reason: /it is the file to import/ },
  {
    name: 'a link to the file to import',
    make: (folder) => symlinkSync('apps.ndjson', join(folder, 'rejects')),
    reason: /it is the file to import/,
  },
  {
    name: 'another name of the file to import',
    make: (folder) => linkSync(join(folder, 'apps.ndjson'), join(folder, 'rejects')),
    reason: /it is the file to import/,
  },
  {
    name: 'problems that are the file to import',
    make: (folder) => symlinkSync('apps.ndjson', join(folder, 'rejects.problems')),
    reason: /rejects\.problems: it is the file to import/,
  },
  {
    name: 'a file without problems beside it',
    make: (folder) => writeFileSync(join(folder, 'rejects'), 'precious'),
    reason: /it already exists and is not a rejects file: \S+\/rejects\.problems is missing/,
  },
  {
    name: 'a file with something else beside it',
    make: (folder) => writeFileSync(join(folder, 'rejects.problems'), 'many'),
    reason: /it already exists and has no problems of rejects/,
  },
  { name: 'a directory', path: '.', reason: /it is a directory/ },
  {
    name: 'a directory beside it',
    make: (folder) => mkdirSync(join(folder, 'rejects.problems')),
    reason: /it is a directory/,
  },
  { name: 'a missing directory', path: 'none/rejects', reason: /none is not a directory that/ },
  { name: 'a file as a directory', path: 'apps.ndjson/x', reason: /apps\.ndjson is not a dir/ },
]

test.for(refusals)('refuses $name', async ({ make, path = 'rejects', reason }) => {
  const { folder, source, input } = startImport()
  make?.(folder)
  await expect(rejectsWriter(join(folder, path), input)).rejects.toThrow(reason)
  expect(readFileSync(source, 'utf8')).toBe('{}\n')
})

test('refuses an address', async () => {
  const { input } = startImport()
  await expect(rejectsWriter('https://example.org/x', input)).rejects.toThrow(
    'cannot write rejects to https://example.org/x: it is an address',
  )
})
