import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, vi } from 'vitest'
import { isInstalled } from '../../judges/tools.ts'
import { temporaryFolder } from '../../support/database.ts'
import { whenFinished } from '../../support/lifetime.ts'
import { type Run, runProgram } from '../../support/process.ts'

/**
 * A machine that starts with systemd: a container on this machine's own files, which it does not
 * change, without a network.
 */

export const canBoot =
  process.getuid?.() === 0 && ['systemd-nspawn', 'unshare', 'nsenter'].every(isInstalled)

export type Machine = {
  /** Runs a script with bash as root, which stops at the first error. */
  run: (script: string) => Promise<Run>
}

/** Boots a machine that has the directory at /srv/files. */
export async function bootMachine(directory: string): Promise<Machine> {
  const root = temporaryFolder()
  // systemd-nspawn does not take / itself.
  const boot = 'mount --bind / "$0" && exec systemd-nspawn --directory="$0" "$@"'
  const options = [
    '--quiet',
    '--volatile=overlay',
    '--register=no',
    '--keep-unit',
    '--private-network',
    `--machine=apps-service-${process.pid}`,
    `--bind-ro=${directory}:/srv/files`,
    '--boot',
    'systemd.unit=basic.target',
  ]
  const nspawn = spawn('unshare', ['--mount', 'sh', '-c', boot, root, ...options], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(nspawn, 'exit')
  let leader: string | undefined
  whenFinished(async () => {
    // Without its first process, a container ends.
    if (leader) process.kill(Number(leader), 'SIGKILL')
    else nspawn.kill('SIGKILL')
    await exited
  })
  await vi.waitFor(
    () => {
      leader = readFileSync(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`, 'utf8').trim()
      const { stdout } = spawnSync('nsenter', [...enter(leader), 'systemctl', 'is-system-running'])
      expect(String(stdout)).toMatch(/running|degraded/)
    },
    { timeout: 60_000, interval: 500 },
  )
  return {
    run: (script) => {
      const args = [...enter(leader ?? ''), 'bash', '-e', '-o', 'pipefail']
      return runProgram('nsenter', args, { HOME: '/root' }, script)
    },
  }
}

const enter = (leader: string) => ['--all', '--target', leader]
