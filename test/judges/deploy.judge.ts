import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/database.ts'

/**
 * The files of deploy/, as the tools that read them understand them. A test is skipped if its tool
 * is not installed.
 */

const root = join(import.meta.dirname, '../..')
const deploy = join(root, 'deploy')

const isInstalled = (tool: string) => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0

function run(file: string, args: string[], env: Record<string, string> = {}) {
  const { status, stderr } = spawnSync(file, args, {
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  })
  return { status, stderr }
}

/** With the paths of this clone, since systemd looks for the executable. */
function verifyUnit(text: string) {
  const file = join(temporaryFolder(), 'apps-service.service')
  writeFileSync(file, text.replaceAll('/opt/apps-service', root))
  return run('systemd-analyze', ['verify', file])
}

test.skipIf(!isInstalled('systemd-analyze'))(
  'apps-service.service: apt-get install systemd',
  () => {
    const unit = readFileSync(join(deploy, 'apps-service.service'), 'utf8')
    expect(verifyUnit(unit)).toEqual({ status: 0, stderr: '' })
    // It only warns of unknown settings.
    expect(verifyUnit(unit.replace('LimitNOFILE', 'LimitFiles')).stderr).toContain(
      "Unknown key 'LimitFiles'",
    )
    expect(verifyUnit(unit.replace('apps-service serve', 'server serve')).status).not.toBe(0)
  },
)

function validateCaddyfile(text: string) {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'Caddyfile'), text)
  const args = ['validate', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]
  return run('caddy', args, { DOMAIN: 'apps.example.org', HOME: folder }).status
}

test.skipIf(!isInstalled('caddy'))('Caddyfile: apt-get install caddy', () => {
  const caddyfile = readFileSync(join(deploy, 'Caddyfile'), 'utf8')
  expect(validateCaddyfile(caddyfile)).toBe(0)
  expect(validateCaddyfile(caddyfile.replace('health_uri', 'health_url'))).toBe(1)
})

const checkCompose = (env: Record<string, string>) =>
  run('docker-compose', ['--file', join(deploy, 'compose.yaml'), 'config', '--quiet'], env)

test.skipIf(!isInstalled('docker-compose'))('compose.yaml: apt-get install docker-compose', () => {
  expect(checkCompose({ DOMAIN: 'apps.example.org', DATABASE_PASSWORD: 'secret' })).toMatchObject({
    status: 0,
  })
  expect(checkCompose({ DOMAIN: 'apps.example.org' })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('DATABASE_PASSWORD'),
  })
})
