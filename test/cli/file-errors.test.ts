import { expect, test } from 'vitest'
import { cannotRead, pathMistake } from '../../src/cli/file-errors.ts'

const missing = Object.assign(new Error(), { code: 'ENOENT', errno: -2, syscall: 'open' })
const address = 'it is an address; give the path of a file on this machine'
const tilde =
  'no such file or directory; a shell replaces ~ only at the beginning of a word and outside quotes'

test.for<{ file: string; mistake: string | undefined }>([
  { file: 'https://example.org/apps.ndjson', mistake: address },
  { file: 'file:///nowhere/apps.ndjson', mistake: address },
  { file: '~/apps.ndjson', mistake: tilde },
  { file: '~ada/apps.ndjson', mistake: tilde },
  { file: 'a~/apps.ndjson', mistake: undefined },
  { file: '~apps.ndjson', mistake: undefined },
])('the mistake in $file: $mistake', ({ file, mistake }) => {
  expect(pathMistake(file)).toBe(mistake)
})

test.for<{ file: string; error: Error; message: string }>([
  { file: '~/apps.ndjson', error: missing, message: `cannot read ~/apps.ndjson: ${tilde}` },
  {
    file: 'apps.ndjson',
    error: missing,
    message: `cannot read ${process.cwd()}/apps.ndjson: no such file or directory`,
  },
  {
    file: '~/apps.ndjson',
    error: new Error('it is damaged'),
    message: `cannot read ${process.cwd()}/~/apps.ndjson: it is damaged`,
  },
  {
    file: '-',
    error: new Error('it is damaged'),
    message: 'cannot read standard input: it is damaged',
  },
])('$message', ({ file, error, message }) => {
  expect(cannotRead(file, error).message).toBe(message)
})
