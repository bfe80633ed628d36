import fs, { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { writeNewFile } from '../../src/cli/write-new-file.ts'
import { temporaryFolder } from '../support/database.ts'

const write = async (path: string) => writeFileSync(path, 'whole')

const handlers = () => process.listenerCount('SIGHUP')

/** Makes `link` fail with this code, as it does on some file systems. */
function failLinks(code: string) {
  const link = vi.spyOn(fs, 'linkSync').mockImplementation((path) => {
    throw Object.assign(new Error(code), { code, syscall: 'link', path })
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    link.mockRestore()
    syncBuiltinESMExports()
  })
}

test('the content is flushed before the file gets its name, its directory afterwards', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'file')
  const handle = await open(import.meta.filename)
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
  onTestFinished(() => sync.mockRestore())
  await handle.close()
  const handlersBefore = handlers()
  const flushed: unknown[] = []
  sync.mockImplementation(async function (this: FileHandle) {
    const { ino } = await this.stat()
    const what = ino === statSync(folder).ino ? 'directory' : 'content'
    // Without a handler, a signal does not report that nothing was written.
    const isHandled = handlers() > handlersBefore
    flushed.push({ what, hasName: existsSync(file), isHandled })
  })
  await writeNewFile(file, 'test', write)
  expect(flushed).toEqual([
    { what: 'content', hasName: false, isHandled: true },
    { what: 'directory', hasName: true, isHandled: false },
  ])
  expect(handlers()).toBe(handlersBefore)
})

test.for(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])(
  'a file system that refuses links with %s gets the file, and keeps an existing one',
  async (code) => {
    failLinks(code)
    const folder = temporaryFolder()
    const file = join(folder, 'file')
    await writeNewFile(file, 'test', write)
    expect(readFileSync(file, 'utf8')).toBe('whole')
    const other = join(folder, 'other')
    const writeLate = (path: string) => {
      writeFileSync(other, 'of another process')
      return write(path)
    }
    await expect(writeNewFile(other, 'test', writeLate)).rejects.toThrow(
      `${other} already exists; not overwritten`,
    )
    expect(readFileSync(other, 'utf8')).toBe('of another process')
    expect(readdirSync(folder).sort()).toEqual(['file', 'other'])
  },
)

test.for(['EACCES', 'EIO', 'ENOSPC', 'EROFS', 'EXDEV'])(
  'a link that fails with %s is an error, and nothing is left behind',
  async (code) => {
    failLinks(code)
    const folder = temporaryFolder()
    const file = join(folder, 'file')
    await expect(writeNewFile(file, 'test', write)).rejects.toThrow(`cannot write ${file}: ${code}`)
    expect(readdirSync(folder)).toEqual([])
  },
)

test('a file that appears meanwhile is not overwritten', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'file')
  const writeLate = (path: string) => {
    writeFileSync(file, 'of another process')
    return write(path)
  }
  await expect(writeNewFile(file, 'test', writeLate)).rejects.toThrow('already exists')
  expect(readFileSync(file, 'utf8')).toBe('of another process')
  expect(readdirSync(folder)).toEqual(['file'])
})

test('an error of the work is thrown as it is, and nothing is left behind', async () => {
  const folder = temporaryFolder()
  const handlersBefore = handlers()
  const error = Object.assign(new Error('lost'), { errno: -104, syscall: 'read' })
  const work = writeNewFile(join(folder, 'file'), 'test', async () => {
    throw error
  })
  await expect(work).rejects.toBe(error)
  expect(readdirSync(folder)).toEqual([])
  expect(handlers()).toBe(handlersBefore)
})

test('only the owner can read an unfinished file', async () => {
  const folder = temporaryFolder()
  await writeNewFile(join(folder, 'file'), 'test', async (path) => {
    const [partial = ''] = readdirSync(folder)
    expect(partial).toMatch(/^\.apps-test-/)
    expect(statSync(join(folder, partial)).mode & 0o777).toBe(0o700)
    await write(path)
  })
})
