import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from './support/database.ts'
import { listening } from './support/process.ts'

/** The files of deploy/: the container image has every file that commands and pages need. */

const root = join(import.meta.dirname, '..')

/** Copies what the last stage of the Containerfile copies. */
function layOutImage(): string {
  const image = temporaryFolder()
  const stage =
    readFileSync(join(root, 'deploy/Containerfile'), 'utf8')
      .split(/^FROM /m)
      .at(-1) ?? ''
  for (const [, files = ''] of stage.matchAll(/^COPY (?:--from=build )?(.+)$/gm)) {
    const sources = files.split(' ').map((file) => file.replace('/app/', ''))
    const target = sources.pop() ?? ''
    for (const source of sources) {
      const path = join(image, target.endsWith('/') ? join(target, basename(source)) : target)
      if (source === 'node_modules') symlinkSync(join(root, source), path)
      else cpSync(join(root, source), path, { recursive: true })
    }
  }
  return image
}

test('an image with the files of deploy/Containerfile tells of decisions', () => {
  const image = layOutImage()
  const env = { PATH: process.env.PATH, DATABASE_URL: `sqlite:${join(image, 'apps.sqlite')}` }
  execFileSync(join(image, 'apps-service'), ['migrate'], { env, cwd: image })
  execFileSync(process.execPath, ['deploy/notify.ts'], {
    env: { ...env, STATE_DIRECTORY: image, NOTIFY_MAIL: 'ada@example.org' },
    cwd: image,
  })
  expect(readFileSync(join(image, 'notified'), 'utf8')).toBe('0\n')
})

test('an image with the files of deploy/Containerfile serves the demo catalogue and every path that its pages link', async () => {
  const image = layOutImage()
  const env = { DATABASE_URL: `sqlite:${join(image, 'apps.sqlite')}` }
  const executable = join(image, 'apps-service')
  for (const command of ['migrate', 'seed']) {
    execFileSync(executable, [command], { env: { PATH: process.env.PATH, ...env }, cwd: image })
  }
  const server = await listening('serve', env, image, executable)
  const base = `http://127.0.0.1:${server.port}`
  const home = await fetch(base, { headers: { Accept: 'text/html' } }).then((response) =>
    response.text(),
  )
  const document = await fetch(`${base}/openapi.json`).then((response) => response.text())
  const links = [
    ...[...home.matchAll(/<a [^>]*href="(.+?)"/g)].map(([, href = '']) => new URL(href).pathname),
    ...[...document.matchAll(/\]\(([\w.-]+)\)/g)].map(([, href]) => `/${href}`),
  ]
  expect(links).toEqual(
    expect.arrayContaining(['/openapi.json', '/openapi.yaml', '/changelog.md', '/healthz']),
  )
  for (const path of ['/apps', '/readyz', ...links]) {
    const { status } = await fetch(base + path)
    expect([path, status]).toEqual([path, 200])
  }
})

/** The lines of a unit that restrict what the service may do. */
const restrictions = (unit: string) =>
  readFileSync(join(root, 'deploy', unit), 'utf8')
    .split('\n')
    .filter((line) => /^(Protect|Private|Proc|Restrict|System|No|Cap|Lock|UMask|State)/.test(line))

test.for(['apps-service-moderation.service', 'apps-service-notify.service'])(
  '%s is restricted as the server is',
  (unit) => {
    expect(restrictions('apps-service.service').length).toBeGreaterThan(20)
    expect(restrictions(unit)).toEqual(restrictions('apps-service.service'))
  },
)
