import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { programFor } from '../src/cli/program.ts'
import { readConfig } from '../src/config.ts'
import { leafCommands } from './support/commands.ts'

/** Compares the documentation with the code. */

const root = `${import.meta.dirname}/..`
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const records = readdirSync(`${root}/docs/decisions`).filter((name) => name !== 'README.md')
const folders = ['.', 'docs', 'docs/decisions', 'test/contract']
const pages = folders.flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
)

describe.for(pages)('%s', (page) => {
  test('has no broken link', () => {
    const targets = [...prose(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
    const own = targets.filter((target) => !target.startsWith('https://'))
    expect(own.filter((target) => !isThere(page, target))).toEqual([])
  })
})

test('README lists every directory of src/', () => {
  const directories = readdirSync(`${root}/src`, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const listed = new Set([...read('README.md').matchAll(/^\| `(src\/\w+)\/`/gm)].map(([, path]) => path))
  expect(directories.map(({ name }) => `src/${name}`).filter((path) => !listed.has(path))).toEqual([])
})

test('README lists exactly the environment variables', () => {
  const names: string[] = []
  readConfig(new Proxy({}, { get: (_, name) => void names.push(String(name)) }))
  const listed = [...read('README.md').matchAll(/^\| `([A-Z_]+)` /gm)].map(([, name = '']) => name)
  expect(listed.toSorted()).toEqual(names.toSorted())
})

test.for<[page: string, writes: RegExp, refusedKeys: RegExp]>([
  ['README.md', /^\| `WRITE_LIMIT` +\| `(.+?)`/m, /^\| `REFUSED_KEY_LIMIT` +\| `(.+?)`/m],
  ['docs/operating.md', /^\| `WRITE_LIMIT` +\| (\d+)/m, /^\| `REFUSED_KEY_LIMIT` +\| (\d+)/m],
  [
    'openapi/introduction.md',
    /^\| Writes by one developer +\| ([\d,]+) a minute/m,
    /^\| Refused keys .*\| ([\d,]+) a/m,
  ],
])('%s has the default limits', ([page, ...patterns]) => {
  const { writeLimit, refusedKeyLimit } = readConfig({})
  const documented = patterns.map((pattern) => Number(pattern.exec(read(page))?.[1]?.replaceAll(',', '')))
  expect(documented).toEqual([writeLimit, refusedKeyLimit])
})

test('docs/operating.md lists exactly the commands', async () => {
  const [, section = ''] = /^## Commands$([\s\S]*?)^## /m.exec(read('docs/operating.md')) ?? []
  const listed = [...section.matchAll(/^\.\/apps-service ([a-z]+(?: [a-z]+)?)/gm)].map(([, name = '']) => name)
  const names = leafCommands(await programFor('')).map(({ name }) => name)
  expect(listed.toSorted()).toEqual(names.toSorted())
})

test('every decision is in the index with its title, and the numbers have no gaps', () => {
  const index = [...read('docs/decisions/README.md').matchAll(/^(\d+)\. \[([^\]]+)\]\(([^)]+)\)/gm)]
  const titles = records.map((name) => read(`docs/decisions/${name}`).split('\n', 1)[0])
  expect(index.map(([, number, title]) => `# ${number}. ${title}`)).toEqual(titles)
  expect(index.map(([, , , file]) => file)).toEqual(records)
  expect(index.map(([, number]) => Number(number))).toEqual(records.map((_, position) => position + 1))
})

const prose = (markdown: string) => markdown.replaceAll(/^```[\s\S]*?^```/gm, '')

function isThere(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(root, file))) return false
  return anchor === undefined || headingsOf(read(file)).includes(anchor)
}

/** Headings as anchors, as GitHub and GitLab make them. */
const headingsOf = (markdown: string) =>
  [...prose(markdown).matchAll(/^#+ (.+)$/gm)].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
