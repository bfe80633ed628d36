import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Whether this process can mount file systems: root can, but not in every container. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0 && tryMount()

function tryMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'apps-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder])
    return true
  } catch {
    return false
  } finally {
    rmdirSync(folder)
  }
}

/** Mounts until the test ends. */
export function mount(target: string, ...options: string[]) {
  execFileSync('mount', [...options, target])
  onTestFinished(() => void execFileSync('umount', ['--lazy', target]))
}

export const mountSmallDisk = (folder: string, megabytes: number) =>
  mount(folder, '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs')
