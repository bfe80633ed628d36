import { execFileSync, type StdioOptions } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'

/**
 * Makes dist/apps-service-VERSION-linux-ARCH.tar.gz, which runs without npm, compilers or network.
 * Its files are those of the last commit and of the locked packages. Node and the compiled SQLite
 * driver are those that `make install` has put into node_modules. `make package` runs this; an
 * argument names another directory than dist/.
 */

const root = join(import.meta.dirname, '..')
const installed = join(root, 'node_modules')
const dist = process.argv[2] ?? join(root, 'dist')

/** Of the repository; node_modules and three files are added. */
const shipped = [
  'apps-service',
  'CHANGELOG.md',
  'deploy',
  'docs',
  'generated',
  'LICENSE',
  'openapi/life-cycle.arazzo.yaml',
  'README.md',
  'seeds',
  'src',
]

/** Never loaded. Node does not run TypeScript below node_modules. */
const unusedExtensions = ['.ts', '.mts', '.cts', '.map', '.md', '.markdown', '.tsbuildinfo', '.yml']
const unusedFolders = /^(tests?|__tests__|docs|examples?|bench|benchmarks?|\..+)$/
const isLegal = (name: string) => /^(licen[cs]e|copying|notice)/i.test(name)

const temporary = mkdtempSync(join(tmpdir(), 'apps-service-package-'))

function main() {
  const source = join(temporary, 'source')
  mkdirSync(source)
  const committed = join(temporary, 'source.tar')
  run('git', ['archive', `--output=${committed}`, 'HEAD'], root)
  run('tar', ['-x', '-f', committed], source)
  if (run('git', ['status', '--porcelain'], root) !== '')
    console.error('Only the last commit is packed, without the uncommitted changes.')
  for (const name of ['node', 'sqlite3']) assertInstalled(name, source)
  const { version }: { version: string } = readJson(join(source, 'generated/openapi.json')).info

  const name = `apps-service-${version}`
  const target = join(temporary, name)
  buildDocsPage(source)
  for (const path of shipped) cpSync(join(source, path), join(target, path), { recursive: true })
  installDependencies(source, target, version)
  addNode(target)
  addDriver(target)
  const packages = findPackages(target)
  writeBillOfMaterials(source, target, version, packages)
  removeUnusedFiles(target)
  writeLicences(target, packages)

  mkdirSync(dist, { recursive: true })
  const file = `${name}-linux-${process.arch}.tar.gz`
  pack(name, join(dist, file))
  const archive = readFileSync(join(dist, file))
  const hash = createHash('sha256').update(archive).digest('hex')
  writeFileSync(join(dist, 'SHA256SUMS'), `${hash}  ${file}\n`)
  console.log(
    `${join(dist, file)}: ${(archive.length / 1e6).toFixed(1)} MB, needs glibc ${neededGlibc(target)}`,
  )
}

/** Returns the standard output. */
function run(file: string, args: string[], cwd: string): string {
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit']
  return execFileSync(file, args, { cwd, stdio, encoding: 'utf8', maxBuffer: 2 ** 28 })
}

/** The binaries of another version could be installed, if the commit is not what was checked out. */
function assertInstalled(name: string, source: string) {
  const locked = readJson(join(source, 'package-lock.json')).packages[`node_modules/${name}`]
    .version
  const { version } = readJson(join(installed, name, 'package.json'))
  if (version !== locked)
    throw new Error(`${name} ${version} is installed, not ${locked}. Run make install.`)
}

/** Builds the page at /docs from the committed document, with the installed Redocly. */
function buildDocsPage(source: string) {
  symlinkSync(installed, join(source, 'node_modules'))
  // Redocly prints its progress as errors; it is shown if the command fails.
  execFileSync('npm', ['run', '--silent', 'docs'], { cwd: source, stdio: 'pipe' })
  rmSync(join(source, 'generated/redoc.html'))
  rmSync(join(source, 'node_modules'))
}

/** The locked packages that serving loads, and a package.json with the version. */
function installDependencies(source: string, target: string, version: string) {
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    cpSync(join(source, file), join(target, file))
  const npm = (...args: string[]) =>
    run('npm', [...args, '--omit=dev', '--omit=optional', '--ignore-scripts'], target)
  npm('ci', '--prefer-offline')
  const {
    scripts: _scripts,
    devDependencies: _development,
    optionalDependencies: _optional,
    allowScripts: _allowed,
    overrides: _overrides,
    ...kept
  } = readJson(join(target, 'package.json'))
  writeJson(join(target, 'package.json'), { ...kept, version })

  // The packages that compile or download the driver are needed no more. Without both lockfiles,
  // npm reads what a package depends on from its package.json.
  const driver = join(target, 'node_modules/sqlite3/package.json')
  const { dependencies, optionalDependencies: _compiler, ...manifest } = readJson(driver)
  writeJson(driver, { ...manifest, dependencies: { bindings: dependencies.bindings } })
  for (const file of ['package-lock.json', 'node_modules/.package-lock.json'])
    rmSync(join(target, file))
  npm('prune', '--offline', '--no-package-lock')
  rmSync(join(target, 'node_modules/.package-lock.json'), { force: true })
  rmSync(join(target, '.npmrc'))
}

/** Unchanged, so that it has the checksum of the published file. */
function addNode(target: string) {
  const from = join(installed, 'node')
  const to = join(target, 'node_modules/node')
  const { name, version, license, bin } = readJson(join(from, 'package.json'))
  cpSync(join(from, 'bin/node'), join(to, 'bin/node'))
  cpSync(
    join(from, `node_modules/node-${process.platform}-${process.arch}/LICENSE`),
    join(to, 'LICENSE'),
  )
  writeJson(join(to, 'package.json'), { name, version, license, bin })
  // Serving needs no other programs of packages.
  const programs = join(target, 'node_modules/.bin')
  rmSync(programs, { recursive: true, force: true })
  mkdirSync(programs)
  symlinkSync('../node/bin/node', join(programs, 'node'))
}

function addDriver(target: string) {
  const driver = join(target, 'node_modules/sqlite3')
  for (const name of readdirSync(driver)) {
    if (name !== 'lib' && name !== 'package.json' && !isLegal(name))
      rmSync(join(driver, name), { recursive: true })
  }
  const binary = 'build/Release/node_sqlite3.node'
  cpSync(join(installed, 'sqlite3', binary), join(driver, binary), { dereference: true })
}

type Package = { folder: string; name: string; version: string; license: string }

/** The packages of the archive, also those in the node_modules of others. */
const findPackages = (target: string): Package[] =>
  readdirSync(join(target, 'node_modules'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /^(.+\/node_modules\/)?(@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
    .toSorted()
    .map((path) => {
      const folder = dirname(join(target, 'node_modules', path))
      return { folder, ...readJson(join(folder, 'package.json')) }
    })

/**
 * Writes sbom.cdx.json: of what npm lists for the lockfile, the packages of the archive, and the
 * programs that two of them contain.
 */
function writeBillOfMaterials(
  source: string,
  target: string,
  version: string,
  packages: Package[],
) {
  const manifest = join(source, 'package.json')
  // npm refuses a package without a version.
  writeJson(manifest, { ...readJson(manifest), version })
  // With --omit=dev it leaves out packages that development needs, too.
  const options = ['--sbom-format', 'cyclonedx', '--package-lock-only']
  const bom = JSON.parse(run('npm', ['sbom', ...options], source))
  const { timestamp: _timestamp, tools: _tools, ...metadata } = bom.metadata
  const own = metadata.component['bom-ref']
  const references = new Set(packages.map(({ name, version }) => `${name}@${version}`))
  const contained = findContained(target)
  type Dependency = { ref: string; dependsOn: string[] }
  // Without what differs in each run, or with the version of npm.
  const content = {
    ...bom,
    serialNumber: undefined,
    metadata: {
      ...metadata,
      timestamp: new Date(1000 * buildTime()).toISOString(),
      component: { ...metadata.component, type: 'application', name: 'apps-service' },
    },
    components: [
      ...bom.components.filter((one: Record<string, string>) =>
        references.has(one['bom-ref'] ?? ''),
      ),
      ...contained.map(({ component }) => component),
    ],
    dependencies: [
      ...bom.dependencies
        .filter(({ ref }: Dependency) => ref === own || references.has(ref))
        .map(({ ref, dependsOn }: Dependency) => ({
          ref,
          dependsOn: [
            ...dependsOn.filter((one) => references.has(one)),
            ...contained
              .filter(({ container }) => ref.startsWith(`${container}@`))
              .map(({ component }) => component['bom-ref']),
          ],
        })),
      ...contained.map(({ component }) => ({ ref: component['bom-ref'], dependsOn: [] })),
    ],
  }
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(content))}`
  writeJson(join(target, 'sbom.cdx.json'), { ...content, serialNumber })
}

/**
 * The programs that are compiled into packages, under the names by which lists of vulnerabilities
 * know them. The Node and the driver of the archive say which versions they are.
 */
function findContained(target: string) {
  const script = `const { Database } = require('sqlite3')
    new Database(':memory:').get('select sqlite_version() as sqlite', (error, row) => {
      if (error) throw error
      console.log(JSON.stringify({ ...row, node: process.versions.node }))
    })`
  const node = join(target, 'node_modules/.bin/node')
  const versions: Record<'sqlite' | 'node', string> = JSON.parse(run(node, ['-e', script], target))
  const describe = (
    container: string,
    { name, ...rest }: { name: keyof typeof versions; type: string; licence: string; cpe: string },
  ) => {
    const version = versions[name]
    const purl = `pkg:generic/${name}@${version}`
    const component = {
      'bom-ref': purl,
      type: rest.type,
      name,
      version,
      licenses: [{ license: { id: rest.licence } }],
      cpe: `cpe:2.3:a:${rest.cpe}:${version}:*:*:*:*:*:*:*`,
      purl,
    }
    return { container, component }
  }
  return [
    describe('node', { name: 'node', type: 'platform', licence: 'MIT', cpe: 'nodejs:node.js' }),
    describe('sqlite3', {
      name: 'sqlite',
      type: 'library',
      licence: 'blessing',
      cpe: 'sqlite:sqlite',
    }),
  ]
}

/** A UUID of version 8 (RFC 9562, 5.8), which the same text always gets. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function removeUnusedFiles(target: string) {
  const packages = join(target, 'node_modules')
  for (const entry of readdirSync(packages, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!existsSync(path) || entry.isSymbolicLink() || entry.name === '.bin') continue
    const isUnused = entry.isDirectory()
      ? // Only beside a package.json, since deeper folders of such a name can have code.
        unusedFolders.test(entry.name) && existsSync(join(entry.parentPath, 'package.json'))
      : unusedExtensions.includes(extname(entry.name)) && !isLicence(entry.parentPath, entry.name)
    if (isUnused) rmSync(path, { recursive: true })
  }
  run('find', [packages, '-type', 'd', '-empty', '-delete'], target)
}

/** If a package has no file for its licence, its README has the text. */
const isLicence = (folder: string, name: string) =>
  isLegal(name) || (/^readme/i.test(name) && !readdirSync(folder).some(isLegal))

function writeLicences(target: string, packages: Package[]) {
  const parts = packages.map(({ folder, name, version, license }) => {
    const texts = readdirSync(folder)
      .filter((file) => isLicence(folder, file))
      .map((file) => readFileSync(join(folder, file), 'utf8').trim())
    return [`${name} ${version}: ${license}`, ...texts].join('\n\n')
  })
  const separator = `\n\n${'-'.repeat(80)}\n\n`
  writeFileSync(join(target, 'THIRD-PARTY-LICENSES.txt'), `${parts.join(separator)}\n`)
}

/** Seconds since 1970: the time of the commit, so that each build of it has the same bytes. */
const buildTime = () =>
  Number(process.env.SOURCE_DATE_EPOCH ?? run('git', ['log', '-1', '--format=%ct'], root))

function pack(name: string, file: string) {
  const options = [
    '--sort=name',
    `--mtime=@${buildTime()}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=a+rX,u+w,go-w',
    '--format=gnu',
  ]
  run('tar', ['-c', '--use-compress-program=gzip -n', '-f', file, ...options, name], temporary)
}

/** The newest version of glibc whose symbols Node or the driver uses. */
function neededGlibc(target: string): string {
  const minors = ['node/bin/node', 'sqlite3/build/Release/node_sqlite3.node'].flatMap((file) => {
    const text = readFileSync(join(target, 'node_modules', file), 'latin1')
    return [...text.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor))
  })
  return `2.${Math.max(...minors)}`
}

function readJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function writeJson(file: string, value: unknown) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
}

try {
  main()
} finally {
  rmSync(temporary, { recursive: true })
}
