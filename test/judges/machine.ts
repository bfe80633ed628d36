import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, vi } from 'vitest'
import { temporaryFolder } from '../support/database.ts'
import { whenFinished } from '../support/lifetime.ts'

/**
 * A machine that starts with systemd: a container on this machine's own files, which it does not
 * change, without a network.
 */

/** What is missing to boot one, or an empty text. */
export const missingForMachine =
  process.getuid?.() !== 0
    ? 'root'
    : ['systemd-nspawn', 'unshare', 'nsenter']
        .filter((tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0)
        .join(' ')

export type Machine = {
  /** Runs a script with bash as root, which stops at the first error. */
  run: (script: string) => Promise<{ code: number; stdout: string; stderr: string }>
}

/** Boots a machine that has the directory at /srv/files. */
export async function bootMachine(directory: string): Promise<Machine> {
  const root = temporaryFolder()
  // systemd-nspawn does not take / itself.
  const boot = `mount --bind / "$0" && exec systemd-nspawn --quiet --directory="$0" --volatile=overlay --register=no \
    --keep-unit --private-network --machine=apps-service-${process.pid} --bind-ro="$1":/srv/files --boot systemd.unit=basic.target`
  const nspawn = spawn('unshare', ['--mount', 'sh', '-c', boot, root, directory], {
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
    run: (script) =>
      new Promise((resolve) => {
        const child = execFile(
          'nsenter',
          [...enter(leader ?? ''), 'bash', '-e', '-o', 'pipefail'],
          { env: { PATH: process.env.PATH, HOME: '/root' }, maxBuffer: 2 ** 26 },
          (error, stdout, stderr) =>
            resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
        )
        child.stdin?.end(script)
      }),
  }
}

const enter = (leader: string) => ['--all', '--target', leader]
