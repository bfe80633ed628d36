import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
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

const units = readdirSync(deploy).filter((name) => /\.(service|timer)$/.test(name))

/**
 * Beside the other units, since a timer starts one, and with the paths of this clone, since systemd
 * looks for the executable.
 */
function verifyUnit(unit: string, [find, replacement]: [string, string] = ['', '']) {
  const folder = temporaryFolder()
  for (const name of units) {
    const text = readFileSync(join(deploy, name), 'utf8').replaceAll('/opt/apps-service', root)
    const isChanged = name === unit && find !== ''
    if (isChanged) expect(text).toContain(find)
    writeFileSync(join(folder, name), isChanged ? text.replace(find, replacement) : text)
  }
  return run('systemd-analyze', ['verify', join(folder, unit)])
}

describe.skipIf(!isInstalled('systemd-analyze'))('systemd units: apt-get install systemd', () => {
  test.for(units)('%s', (unit) => {
    expect(verifyUnit(unit)).toEqual({ status: 0, stderr: '' })
  })

  // It only warns of unknown settings.
  test.for<[unit: string, change: [string, string], stderr: RegExp]>([
    ['apps-service.service', ['LimitNOFILE', 'LimitFiles'], /Unknown key 'LimitFiles'/],
    ['apps-service.service', ['apps-service serve', 'server serve'], /is not executable/],
    ['apps-service-moderation.service', ['apps-service mod', 'page mod'], /is not executable/],
    ['apps-service-notify.service', ['.bin/node', 'bin/node'], /is not executable/],
    ['apps-service-notify.service', ['DynamicUser', 'AnyUser'], /Unknown key 'AnyUser'/],
    ['apps-service-notify.timer', ['*:0/5', '*:five'], /Failed to parse calendar/],
    ['apps-service-notify.timer', ['OnCalendar', 'On'], /Unknown key 'On'/],
  ])('%s with a mistake: %s', ([unit, change, stderr]) => {
    expect(verifyUnit(unit, change).stderr).toMatch(stderr)
  })
})

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
