import { existsSync, readFileSync } from 'node:fs'

/**
 * The current or peak resident set of a process in bytes; undefined on systems other than Linux.
 */
export function residentBytes(
  pid: number | undefined,
  field: 'VmRSS' | 'VmHWM' = 'VmRSS',
): number | undefined {
  const file = `/proc/${pid}/status`
  if (!existsSync(file)) return undefined
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(
    readFileSync(file, 'utf8'),
  )?.[1]
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
}
