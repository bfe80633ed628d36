import fs, {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { writeNewFile } from '../../src/cli/write-new-file.ts'
import { temporaryFolder } from '../support/database.ts'

const write = async (path: string) => writeFileSync(path, 'whole')

const handlers = () => process.listenerCount('SIGHUP')

/** Makes `link` or `rename` fail with this code, as they do on some file systems. */
function failCalls(name: 'linkSync' | 'renameSync', code: string) {
  const link = vi.spyOn(fs, name).mockImplementation((path) => {
    throw Object.assign(new Error(code), { code, syscall: name, path })
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
    failCalls('linkSync', code)
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
    failCalls('linkSync', code)
    const folder = temporaryFolder()
    const file = join(folder, 'file')
    await expect(writeNewFile(file, 'test', write)).rejects.toThrow(`cannot write ${file}: ${code}`)
    expect(readdirSync(folder)).toEqual([])
  },
)

test('a file system that refuses links, and then the rename, gets no file', async () => {
  failCalls('linkSync', 'EPERM')
  failCalls('renameSync', 'EIO')
  const folder = temporaryFolder()
  const file = join(folder, 'file')
  await expect(writeNewFile(file, 'test', write)).rejects.toThrow(`cannot write ${file}: EIO`)
  expect(readdirSync(folder)).toEqual([])
})

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

describe('a directory that a killed process has left behind', () => {
  const hour = 3_600
  const kept = (folder: string) => readdirSync(folder).filter((name) => name !== 'file')

  /** Makes a directory whose files, and which itself, were last changed so many hours ago. */
  function leave(folder: string, name: string, hours: number, files: Record<string, number> = {}) {
    const directory = join(folder, name)
    mkdirSync(directory)
    const at = (ago: number) => Date.now() / 1_000 - ago * hour
    for (const [file, ago] of Object.entries(files)) {
      writeFileSync(join(directory, file), '')
      utimesSync(join(directory, file), at(ago), at(ago))
    }
    utimesSync(directory, at(hours), at(hours))
    return directory
  }

  test('is removed after a day, before the next file is written, and again the next time', async () => {
    const folder = temporaryFolder()
    for (let run = 0; run < 2; run++) {
      leave(folder, '.apps-test-aB3xYz', 0, { 'a.sqlite': 25, 'a.sqlite-journal': 25 })
      leave(folder, '.apps-test-empty1', 25)
      await writeNewFile(join(folder, `file ${run}`), 'test', async (path) => {
        expect(readdirSync(folder)).not.toContain('.apps-test-aB3xYz')
        await write(path)
      })
    }
    expect(readdirSync(folder).sort()).toEqual(['file 0', 'file 1'])
  })

  test.for<[what: string, name: string, hours: number, files?: Record<string, number>]>([
    ['is younger than a day', '.apps-test-aB3xYz', 23, { file: 23 }],
    ['has a file that is', '.apps-test-aB3xYz', 25, { old: 25, new: 23 }],
    ['is younger than a day, and empty', '.apps-test-aB3xYz', 23],
    ['has a file of a clock that was ahead', '.apps-test-aB3xYz', 25, { file: -25 }],
    ['belongs to another command', '.apps-other-aB3xYz', 25, { file: 25 }],
    ['has another name', 'apps-test-aB3xYz', 25, { file: 25 }],
  ])('stays if it %s', async ([, name, hours, files]) => {
    const folder = temporaryFolder()
    leave(folder, name, hours, files)
    await writeNewFile(join(folder, 'file'), 'test', write)
    expect(kept(folder)).toEqual([name])
    expect(readdirSync(join(folder, name))).toEqual(Object.keys(files ?? {}).toSorted())
  })

  test('stays if it is a link or a file', async () => {
    const folder = temporaryFolder()
    const target = leave(temporaryFolder(), 'target', 25, { file: 25 })
    symlinkSync(target, join(folder, '.apps-test-aB3xYz'))
    writeFileSync(join(folder, '.apps-test-file12'), '')
    utimesSync(join(folder, '.apps-test-file12'), 0, 0)
    await writeNewFile(join(folder, 'file'), 'test', write)
    expect(kept(folder)).toEqual(['.apps-test-aB3xYz', '.apps-test-file12'])
    expect(readdirSync(target)).toEqual(['file'])
  })

  test.runIf(process.getuid?.() === 0)('stays if it belongs to another account', async () => {
    const folder = temporaryFolder()
    chownSync(leave(folder, '.apps-test-aB3xYz', 25, { file: 25 }), 60_002, 60_002)
    await writeNewFile(join(folder, 'file'), 'test', write)
    expect(kept(folder)).toEqual(['.apps-test-aB3xYz'])
  })
})
