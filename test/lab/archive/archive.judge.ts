import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import document from '../../../generated/openapi.json' with { type: 'json' }
import { temporaryFolder } from '../../support/database.ts'
import { share } from '../../support/lifetime.ts'
import { startListening } from '../../support/process.ts'

/** The archive of `make package`: unpacked elsewhere, it runs on its own Node. */

const root = join(import.meta.dirname, '../../..')
const name = `apps-service-${document.info.version}`
const file = `${name}-linux-${process.arch}.tar.gz`
const archive = join(root, 'dist', file)
const maxSize = 60e6

/** The unpacked archive, in a directory whose name has spaces. */
let home: string
/** A PATH with nothing but the programs that the launcher needs, and a Node that fails. */
let programs: string

const hash = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

type BillOfMaterials = {
  serialNumber: string
  components: { 'bom-ref': string; name: string; version: string; purl: string; cpe?: string }[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

const readBillOfMaterials = (): BillOfMaterials =>
  JSON.parse(readFileSync(join(home, 'sbom.cdx.json'), 'utf8'))

share(async () => {
  const folder = join(temporaryFolder(), 'a directory with spaces')
  home = join(folder, name)
  programs = join(folder, 'programs')
  mkdirSync(programs, { recursive: true })
  execFileSync('tar', ['xzf', archive, '-C', folder])
  for (const program of ['sh', 'dirname', 'readlink']) {
    const path = execFileSync('which', [program], { encoding: 'utf8' }).trim()
    symlinkSync(path, join(programs, program))
  }
  writeFileSync(join(programs, 'node'), '#!/bin/sh\nexit 42\n', { mode: 0o755 })
})

test('has the same bytes when the commit is packed again', () => {
  const first = hash(archive)
  expect(readFileSync(join(root, 'dist/SHA256SUMS'), 'utf8')).toBe(`${first}  ${file}\n`)
  const folder = temporaryFolder()
  execFileSync(process.execPath, ['scripts/package.ts', folder], { cwd: root })
  expect(hash(join(folder, file))).toBe(first)
})

test(`has at most ${maxSize / 1e6} MB`, () => {
  const { size } = statSync(archive)
  console.log(`${file}: ${(size / 1e6).toFixed(1)} MB`)
  expect(size).toBeLessThan(maxSize)
})

test('has one directory, with files of the repository, packages, licences and a bill of materials', () => {
  const listed = execFileSync('tar', ['tzf', archive], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  const paths = listed.trim().split('\n')
  expect(paths.filter((path) => !path.startsWith(`${name}/`))).toEqual([])
  expect(readdirSync(home).toSorted()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'THIRD-PARTY-LICENSES.txt',
    'apps-service',
    'deploy',
    'docs',
    'generated',
    'node_modules',
    'openapi',
    'package.json',
    'sbom.cdx.json',
    'seeds',
    'src',
  ])
  const committed = new Set(
    execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n'),
  )
  const added = paths
    .map((path) => path.slice(name.length + 1))
    .filter((path) => path !== '' && !path.endsWith('/') && !path.startsWith('node_modules/'))
    .filter((path) => !committed.has(path))
  expect(added.toSorted()).toEqual([
    'THIRD-PARTY-LICENSES.txt',
    'generated/docs.html',
    'sbom.cdx.json',
  ])
})

test('names no directory of the machine that packed it', () => {
  const { stdout } = spawnSync('grep', ['-rlF', '-e', root, '-e', '/apps-service-package-', home], {
    encoding: 'utf8',
  })
  expect(stdout).toBe('')
})

test('lists the version of each package and its licence', () => {
  const packages = readBillOfMaterials().components.filter(({ purl }) =>
    purl.startsWith('pkg:npm/'),
  )
  const licences = readFileSync(join(home, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
  const names = packages.map((one) => one.name)
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(names).toEqual(expect.arrayContaining(['node', ...Object.keys(dependencies)]))
  for (const { name, version } of packages) expect(licences).toContain(`${name} ${version}: `)
})

test('lists the Node and the SQLite that packages contain, as they report their versions', () => {
  const node = join(home, 'node_modules/.bin/node')
  const report = (script: string) =>
    execFileSync(node, ['-p', script], { cwd: home, encoding: 'utf8' }).trim()
  const [nodeVersion, sqliteVersion] = [
    report('process.versions.node'),
    report("require('sqlite3').VERSION"),
  ]
  const { components, dependencies, serialNumber } = readBillOfMaterials()
  expect(
    components.filter(({ cpe }) => cpe).map(({ name, purl, cpe }) => [name, purl, cpe]),
  ).toEqual([
    [
      'node',
      `pkg:generic/node@${nodeVersion}`,
      `cpe:2.3:a:nodejs:node.js:${nodeVersion}:*:*:*:*:*:*:*`,
    ],
    [
      'sqlite',
      `pkg:generic/sqlite@${sqliteVersion}`,
      `cpe:2.3:a:sqlite:sqlite:${sqliteVersion}:*:*:*:*:*:*:*`,
    ],
  ])
  const containerOf = (purl: string) =>
    dependencies.filter(({ dependsOn }) => dependsOn.includes(purl)).map(({ ref }) => ref)
  expect(containerOf(`pkg:generic/node@${nodeVersion}`)).toEqual([`node@${nodeVersion}`])
  expect(containerOf(`pkg:generic/sqlite@${sqliteVersion}`)).toEqual([
    expect.stringMatching(/^sqlite3@/),
  ])
  // https://cyclonedx.org/schema/bom-1.5.schema.json
  expect(serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  const references = components.map((one) => one['bom-ref'])
  expect(new Set(references).size).toBe(references.length)
  expect(references).toEqual(
    expect.arrayContaining(dependencies.flatMap(({ dependsOn }) => dependsOn)),
  )
})

test('runs on its own Node', () => {
  const { status, stdout, stderr } = spawnSync(join(home, 'apps-service'), ['--version'], {
    env: { PATH: programs },
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: `${document.info.version}\n`,
    stderr: '',
  })
})

test('a driver that does not load is named', () => {
  const driver = 'node_modules/sqlite3/build/Release/node_sqlite3.node'
  renameSync(join(home, driver), join(home, 'driver'))
  writeFileSync(join(home, driver), 'not a library')
  const { status, stderr } = spawnSync(join(home, 'apps-service'), ['migrate'], {
    env: { PATH: programs },
    cwd: temporaryFolder(),
    encoding: 'utf8',
  })
  renameSync(join(home, 'driver'), join(home, driver))
  expect(stderr).toMatch(/^apps-service: Cannot load the SQLite driver: .*\.node: .+\n$/)
  expect(status).toBe(1)
})

test('demo serves the catalogue, and every path that its pages link', async () => {
  const data = temporaryFolder()
  const server = await startListening('demo', { PATH: programs }, data, join(home, 'apps-service'))
  const base = `http://127.0.0.1:${server.port}`
  const page = await fetch(base, { headers: { Accept: 'text/html' } })
  const links = [
    ...[...(await page.text()).matchAll(/<a [^>]*href="(.+?)"/g)].map(
      ([, href = '']) => new URL(href).pathname,
    ),
    ...[...JSON.stringify(document).matchAll(/\]\(([\w.-]+)\)/g)].map(([, href]) => `/${href}`),
  ]
  expect(links).toEqual(
    expect.arrayContaining([
      '/docs',
      '/openapi.json',
      '/openapi.yaml',
      '/changelog.md',
      '/healthz',
    ]),
  )
  for (const path of ['/', '/apps?search=tiles', '/readyz', ...links]) {
    const { status } = await fetch(base + path)
    expect([path, status]).toEqual([path, 200])
  }
  expect(readdirSync(join(data, 'data'))).toContain('apps.sqlite')
  execFileSync(join(home, 'node_modules/.bin/node'), [join(home, 'deploy/notify.ts')], {
    env: { STATE_DIRECTORY: data, NOTIFY_MAIL: 'ada@example.org' },
    cwd: data,
  })
  expect(readFileSync(join(data, 'notified'), 'utf8')).toMatch(/^\{"place":\d+,/)
  server.process.kill('SIGTERM')
  expect(await server.exited).toEqual([0, null])
})
