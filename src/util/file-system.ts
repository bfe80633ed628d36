import { createHash } from 'node:crypto'
import { closeSync, createReadStream, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'

/** Gives the file a second name, `target`; throws if that exists. The caller removes the first. */
export function linkIntoPlace(path: string, target: string): void {
  try {
    // Unlike a rename, a link never replaces an existing file:
    // https://man7.org/linux/man-pages/man2/link.2.html
    linkSync(path, target)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined || !linkUnsupportedCodes.has(code)) throw error
    // A file system such as FAT has no links: reserve the name first.
    closeSync(openSync(target, 'wx'))
    try {
      renameSync(path, target)
    } catch (error) {
      rmSync(target)
      throw error
    }
  }
}

/** Error codes of file systems without links, on Linux and other systems. */
const linkUnsupportedCodes = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/** Flushes a file, or with `r` a directory: otherwise a power cut could lose names in it. */
export async function syncToDisk(path: string, flags: 'r' | 'r+'): Promise<void> {
  await using handle = await open(path, flags)
  await handle.sync()
}

/** The SHA-256 of a file in hexadecimal. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256').setEncoding('hex')
  await pipeline(createReadStream(path), hash)
  return hash.read()
}
