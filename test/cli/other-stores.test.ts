import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { toLines } from '../support/catalogue-file.ts'
import { emptyCatalogueUrl, temporaryFolder } from '../support/database.ts'
import { run } from '../support/process.ts'

/** The commands of docs/moving-data.md that convert files of other stores, as they are printed. */

const page = readFileSync(`${import.meta.dirname}/../../docs/moving-data.md`, 'utf8')
const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)]
  .map(([, command = '']) => command)
  .filter((command) => command.includes('jq -c'))

const hasJq = spawnSync('jq', ['--version']).status === 0

/** Runs the command that reads a file, beside the files. */
function runCommand(
  reads: string,
  files: Record<string, string | object>,
  folder: string,
  settings: Record<string, string> = {},
) {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    writeFileSync(join(folder, name), text)
  }
  const command = commands.find((one) => one.includes(reads)) ?? expect.fail()
  const { stderr } = spawnSync('sh', ['-c', command], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...settings },
  })
  expect(stderr).toBe('')
}

/** Runs the command, and imports and exports what it writes. */
async function convert(
  reads: string,
  files: Record<string, string | object>,
  settings: Record<string, string> = {},
) {
  const folder = temporaryFolder()
  runCommand(reads, files, folder, settings)
  const env = { DATABASE_URL: await emptyCatalogueUrl() }
  expect(await run(['import', join(folder, 'apps.ndjson')], env)).toMatchObject({ stderr: '' })
  const exported = (await run(['export'], env)).stdout.trimEnd().split('\n')
  return exported
    .map((line) => JSON.parse(line))
    .filter(({ name }) => name)
    .map(({ id, reviews, rejection_reason, deleted_at, ...app }) => app)
}

const unlisted = { icon_url: null, keywords: null }
const noRatings = { total_downloads: 0, average_rating: null, rating_count: null }

test.skipIf(!hasJq)("an index of F-Droid's becomes apps", async () => {
  const times = { added: 1767225600000, lastUpdated: 1767312000123 }
  const apps = await convert('index-v2.json', {
    'index-v2.json': {
      repo: {
        address: 'https://store.example/repo',
        categories: { Time: { name: { de: 'Zeit', 'en-US': 'Time' } }, 'Phone & SMS': {} },
      },
      packages: {
        'org.example.tideclock': {
          metadata: {
            ...times,
            categories: ['Time', 'Phone & SMS'],
            name: { de: 'Tidenuhr', 'en-US': 'Tide Clock' },
            summary: { de: 'Hoch und niedrig', en: 'High and low' },
            description: { 'en-US': '<b>High</b> and low.\n<ul><li>1 < 2</li></ul>' },
            authorName: 'Ada <ada@example.org>',
            webSite: 'https://example.org/',
            sourceCode: 'https://code.example.org/tides',
            license: 'GPL-3.0-or-later',
            icon: { de: { name: '/x/de.png' }, 'en-US': { name: '/x/icon.png', size: 5 } },
          },
          versions: {
            b2: { manifest: { versionName: '2.0', versionCode: 12 } },
            a1: { manifest: { versionName: '1.0', versionCode: 9 } },
          },
        },
        'com.example': {
          metadata: {
            ...times,
            categories: ['Phone & SMS'],
            name: { fi: 'Esimerkki' },
            webSite: 'http://example.com/',
            sourceCode: 'ftp://example.com/',
            license: 'LicenseRef-proprietary=https://example.com/',
          },
          versions: { c3: { manifest: { versionName: '', versionCode: 1 } } },
        },
        'org.example.bare': {
          metadata: { ...times, description: { en: '' }, license: 'Unknown', sourceCode: '' },
          versions: {},
        },
      },
    },
  })
  const imported = {
    status: 'approved',
    created_at: '2026-01-01T00:00:00.000Z',
    approved_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-02T00:00:00.000Z',
    ...noRatings,
  }
  const unknown = { ...unlisted, website_url: null, source_code_url: null, license: null }
  expect(apps).toEqual([
    {
      ...imported,
      name: 'Tide Clock',
      slug: 'org-example-tideclock',
      description: 'High and low.\n1 < 2',
      category: expect.objectContaining({ slug: 'time', name: 'Time' }),
      developer_name: 'Ada',
      short_description: 'High and low',
      version: '2.0',
      package_name: 'org.example.tideclock',
      website_url: 'https://example.org/',
      source_code_url: 'https://code.example.org/tides',
      icon_url: 'https://store.example/repo/x/icon.png',
      keywords: ['Phone & SMS'],
      license: 'GPL-3.0-or-later',
    },
    {
      ...imported,
      ...unlisted,
      website_url: 'http://example.com/',
      source_code_url: null,
      license: 'LicenseRef-proprietary=https://example.com/',
      name: 'Esimerkki',
      slug: 'com-example',
      description: 'Esimerkki',
      category: expect.objectContaining({ slug: 'phone-sms', name: 'Phone & SMS' }),
      developer_name: 'Unknown',
      short_description: null,
      version: '1.0.0',
      package_name: null,
    },
    {
      ...imported,
      ...unknown,
      name: 'org.example.bare',
      slug: 'org-example-bare',
      description: 'org.example.bare',
      category: expect.objectContaining({ slug: 'other', name: 'Other' }),
      developer_name: 'Unknown',
      short_description: null,
      version: '1.0.0',
      package_name: 'org.example.bare',
    },
  ])
})

test.skipIf(!hasJq)('folders with a config.json become apps', async () => {
  const config = {
    name: 'Tide Clock',
    id: 'tides',
    version: '2.0',
    categories: ['utilities', 'data'],
    description: 'Not this one.',
    short_desc: 'High and low',
    author: 'Ada Lovelace <ada@example.org>',
    source: 'https://code.example.org/tides',
    website: 'https://example.org/',
    created_at: 1767225600000,
    updated_at: 1767312000123,
  }
  const { website, ...others } = config
  const files = {
    'apps/tides/config.json': config,
    'apps/tides/metadata/description.md': '# Tide Clock\n\nHigh and low water.\n',
    'apps/other one/config.json': {
      ...others,
      name: 'Moon Map',
      id: 'moon-map',
      author: '<nobody@example.org>',
      categories: null,
      source: 'HTTP://code.example.org/moon',
    },
    'apps/other one/metadata/description.md': 'm'.repeat(20_001),
    'apps/tides/metadata/logo.jpg': '',
  }
  const icons = 'https://store.example/apps'
  const apps = await convert('config.json', files, { icons })
  const [, withoutIcon] = await convert('config.json', files)
  expect(withoutIcon).toMatchObject({ name: 'Tide Clock', icon_url: null })
  const imported = {
    version: '2.0',
    package_name: null,
    short_description: 'High and low',
    license: null,
    status: 'approved',
    created_at: '2026-01-01T00:00:00.000Z',
    approved_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-02T00:00:00.000Z',
    ...noRatings,
  }
  expect(apps).toEqual([
    {
      ...imported,
      name: 'Moon Map',
      slug: 'moon-map',
      description: 'm'.repeat(20_000),
      category: expect.objectContaining({ slug: 'other', name: 'Other' }),
      developer_name: 'Unknown',
      website_url: null,
      source_code_url: 'HTTP://code.example.org/moon',
      ...unlisted,
    },
    {
      ...imported,
      name: 'Tide Clock',
      slug: 'tides',
      description: '# Tide Clock\n\nHigh and low water.',
      category: expect.objectContaining({ slug: 'utilities', name: 'Utilities' }),
      developer_name: 'Ada Lovelace',
      website_url: 'https://example.org/',
      source_code_url: 'https://code.example.org/tides',
      icon_url: `${icons}/tides/metadata/logo.jpg`,
      keywords: ['data'],
    },
  ])
})

test.skipIf(!hasJq)(
  'a second run renames an app, deletes one that is gone, and brings it back',
  async () => {
    const folder = temporaryFolder()
    const env = { DATABASE_URL: await emptyCatalogueUrl() }
    const fields = {
      description: 'Apps.',
      category: { slug: 'tools', name: 'Tools' },
      developer_name: 'Ada',
      created_at: '2026-01-01T00:00:00Z',
    }
    const [tides, moon] = [
      { ...fields, name: 'Tides', slug: 'tides', status: 'approved' },
      { ...fields, name: 'Moon', slug: 'moon', status: 'approved' },
    ]
    const importThem = async (...apps: object[]) =>
      (await run(['import', '-'], env, toLines(apps))).stdout
    expect(await importThem(tides, moon)).toContain('2 created')
    const renamed = { ...fields, name: 'Tide Clock', slug: 'tides' }
    expect(await importThem(renamed)).toContain('0 created, 1 updated')

    const files = { 'before.ndjson': toLines([tides, moon]), 'apps.ndjson': toLines([renamed]) }
    runCommand('before.ndjson', files, folder)
    const deleted = await run(['import', join(folder, 'gone.ndjson')], env)
    expect(deleted.stdout).toContain('0 created, 1 updated')
    const names = async () =>
      (await run(['export', '--public'], env)).stdout.match(/Tides|Tide Clock|Moon/g)
    expect(await names()).toEqual(['Tide Clock'])
    const back = await run(['import', '-', '--rejects', '/dev/null'], env, toLines([moon]))
    expect(back.stderr).toContain('app restore 2')
    await run(['app', 'restore', '2'], env)
    expect(await names()).toEqual(['Tide Clock', 'Moon'])
  },
)
