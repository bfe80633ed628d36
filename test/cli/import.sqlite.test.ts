import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyWorldFile, temporaryFolder } from '../support/database.ts'
import { commandLine, serve } from '../support/process.ts'

const lineOf = (name: string) =>
  JSON.stringify({ name, description: 'The sky above you.', category: 'tools', developer_name: 'Ada' })

test('an import writes the log back into the database, with a server beside it or without', async () => {
  const file = copyWorldFile()
  const { runWith } = commandLine(`sqlite:${file}`)
  const importing = (lines: string[]) => runWith(lines.join('\n'), 'import', '-')
  await importing(Array.from({ length: 300 }, (_, index) => lineOf(`Star ${index}`)))
  expect(existsSync(`${file}-wal`)).toBe(false)
  await serve(`sqlite:${file}`)
  await importing([lineOf('Beside a server')])
  expect(existsSync(`${file}-wal`)).toBe(true)
  const copy = join(temporaryFolder(), 'copy.sqlite')
  copyFileSync(file, copy)
  expect((await commandLine(`sqlite:${copy}`).run('export')).stdout).toContain('Beside a server')
})
