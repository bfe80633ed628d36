import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { maxHeaderSize } from 'node:http'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { type Document, OpenAPIBackend } from 'openapi-backend'
import { describe, expect, test } from 'vitest'
import document from '../generated/openapi.json' with { type: 'json' }
import manifest from '../package.json' with { type: 'json' }
import { defaultKeyLifetime } from '../src/accounts/keys.ts'
import { defaultVersion } from '../src/catalogue/app-columns.ts'
import { lifetime } from '../src/catalogue/idempotency.ts'
import { ratingColumns } from '../src/catalogue/ratings.ts'
import { programFor } from '../src/cli/program.ts'
import { writeTimeout } from '../src/cli/serve.ts'
import { readConfig } from '../src/config.ts'
import { queueLimits } from '../src/db/database.ts'
import { maxBytes } from '../src/http/body.ts'
import { clientBuffers } from '../src/http/connections.ts'
import { defaultConnectionLimits, defaultTimeouts } from '../src/http/server.ts'
import { maxMatches } from '../src/search/best-matches.ts'
import { exitLimit } from '../src/servers.ts'
import { operationsOf, type Schema } from './contract/operations.ts'
import { ownerTexts } from './contract/owner-fields.ts'
import { leafCommands } from './support/commands.ts'
import { settingNames } from './support/settings.ts'

/** Compares the documentation with the code. */

const root = `${import.meta.dirname}/..`
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const records = readdirSync(`${root}/docs/decisions`).filter((name) => name !== 'README.md')
const folders = ['.', '.github', 'docs', 'docs/decisions', 'test/contract', 'test/judges']
const pages = folders.flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
)

describe.for(pages)('%s', (page) => {
  test('has no broken link', () => {
    const targets = [...prose(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(
      ([, target = '']) => target,
    )
    const own = targets.filter((target) => !target.startsWith('https://'))
    expect(own.filter((target) => !isThere(page, target))).toEqual([])
  })
})

test('every page of docs/ that another file names is there', () => {
  const named = textFiles().flatMap((file) =>
    [...read(file).matchAll(/(?<![\w./])(docs\/[\w/-]+\.md)(?:, "([^"\n]+)")?/g)].map(
      ([, page = '', heading]) => ({ file, page, heading }),
    ),
  )
  expect(named.length).toBeGreaterThan(20)
  const isNamedRight = ({ page, heading }: (typeof named)[number]) =>
    existsSync(join(root, page)) &&
    (heading === undefined || read(page).includes(`\n## ${heading}\n`))
  expect(named.filter((one) => !isNamedRight(one))).toEqual([])
})

test('ARCHITECTURE.md lists every directory of src/', () => {
  const directories = readdirSync(`${root}/src`, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  const listed = new Set(
    [...read('ARCHITECTURE.md').matchAll(/^\| `(src\/[\w-]+)\/`/gm)].map(([, path]) => path),
  )
  expect(directories.map(({ name }) => `src/${name}`).filter((path) => !listed.has(path))).toEqual(
    [],
  )
})

test('README starts with commands that can be typed as they are', () => {
  const [, start = ''] = read('README.md').split(/^## /m)
  const commands = [...start.matchAll(/^```sh\n(.*?)^```/gms)].map(([, code]) => code).join('')
  expect(commands).toContain('make run')
  // Such as ADDRESS or FILE.
  expect(commands.match(/\b[A-Z]{2,}\b|…/g)).toBeNull()
})

test('docs/api-changes.md has at most ten lines a version', () => {
  const [, ...versions] = read('docs/api-changes.md').split(/^## /m)
  const lengths = versions.map((text) => text.trim().split('\n').length - 2)
  expect(Math.max(...lengths)).toBeLessThanOrEqual(10)
  expect(Math.min(...lengths)).toBeGreaterThanOrEqual(1)
})

test('docs/moving-data.md has at most 2,050 words', () => {
  expect(read('docs/moving-data.md').split(/\s+/).length).toBeLessThanOrEqual(2050)
})

test.for(operationsOf(document))('README has a call of $operationId', ({ method, path }) => {
  const target = path.replaceAll(/\{\w+\}/g, '\\d+')
  const hasBody = method === 'POST' ? '.*(?:\\\\\n.*)*-d' : ''
  const option = ['GET', 'POST'].includes(method) ? '' : `-X ${method} `
  expect(read('README.md')).toMatch(new RegExp(`^curl ${option}"\\$B${target}["?]${hasBody}`, 'm'))
})

const [, settings = ''] = /^## Settings$([\s\S]*?)^## /m.exec(read('docs/running.md')) ?? []
const listedVariables = [...settings.matchAll(/^\| `([A-Z_]+)` /gm)].map(([, name = '']) => name)

test('docs/running.md lists exactly the environment variables', () =>
  expect(listedVariables.toSorted()).toEqual(settingNames().toSorted()))

test('.env.example has each variable of docs/running.md with its default, commented out', () => {
  const example = read('.env.example')
  const lines = example.split('\n').filter((line) => line !== '' && !line.startsWith('# '))
  expect(lines.map((line) => /^#([A-Z_]+)=/.exec(line)?.[1])).toEqual(listedVariables)
  const settings = parseEnv(example.replaceAll(/^#(?=[A-Z_]+=)/gm, ''))
  expect(Object.keys(settings)).toHaveLength(lines.length)
  expect(readConfig(settings)).toEqual(readConfig({}))
})

test('.nvmrc names the version of Node that is installed and required', () => {
  const version = read('.nvmrc').trim()
  expect(manifest.engines.node).toBe(`>=${version}`)
  expect(manifest.optionalDependencies.node).toMatch(new RegExp(`^\\^${version}\\.`))
})

test.for(['docs/clients.md', 'openapi/introduction.md'])(
  '%s generates clients with the installed version of Redocly',
  (page) => {
    const versions = [...read(page).matchAll(/@redocly\/cli@(\S+)/g)].map(([, version]) => version)
    expect(new Set(versions)).toEqual(new Set([manifest.devDependencies['@redocly/cli']]))
  },
)

test.for<[page: string, writes: RegExp, refusedKeys: RegExp]>([
  ['docs/running.md', /^\| `WRITE_LIMIT` +\| `(.+?)`/m, /^\| `REFUSED_KEY_LIMIT` +\| `(.+?)`/m],
  [
    'openapi/introduction.md',
    /^\| Writes by one developer +\| ([\d,]+) a minute/m,
    /^\| Refused keys .*\| ([\d,]+) a/m,
  ],
])('%s has the default limits', ([page, ...patterns]) => {
  const { writeLimit, refusedKeyLimit } = readConfig({})
  const documented = patterns.map((pattern) =>
    Number(pattern.exec(read(page))?.[1]?.replaceAll(',', '')),
  )
  expect(documented).toEqual([writeLimit, refusedKeyLimit])
})

const { headers, parameters, responses, schemas } = document.components
const hour = 60 * 60 * 1000
const maxBodyKibibytes = maxBytes / 1024
const idempotencyHours = lifetime / hour
const keyDays = defaultKeyLifetime / (24 * hour)
/** The characters of an idempotency key, without quotes. */
const idempotencyKeyLength = (
  /\{(\d+),(\d+)\}/.exec(parameters.IdempotencyKey.schema.pattern) ?? []
)
  .slice(1)
  .map(Number)

test('the introduction states the limits of the document and the code', () => {
  // Any other least length follows from the form, which the row describes.
  const lengths = ownerTexts.map(([name, { maxItems, minLength, maxLength }]) => [
    `\`${name}\``,
    [maxItems ?? [], minLength === 1 ? [minLength, maxLength] : [maxLength]].flat(),
  ])
  const { minimum, maximum, default: usual } = parameters.Limit.schema
  const { writeLimit, refusedKeyLimit } = readConfig({})
  const [, table = ''] =
    /^## Limits$([\s\S]*?)^## /m.exec(`${read('openapi/introduction.md')}\n## `) ?? []
  const rows = [...table.matchAll(/^\| (.+?) *\| (.*\d.*) \|$/gm)]
  expect(Object.fromEntries(rows.map(([, name, limit = '']) => [name, numbersIn(limit)]))).toEqual({
    '`limit`': [minimum, maximum, usual, maximum],
    '`search`': [parameters.Search.schema.maxLength],
    'Apps that a search returns': [maxMatches],
    ...Object.fromEntries(lengths),
    'Reviews in an app': [schemas.App.properties.reviews.maxItems],
    'Problems in an error': [schemas.Problems.maxItems],
    '`Idempotency-Key`': [...idempotencyKeyLength, idempotencyHours],
    'Request body': [maxBodyKibibytes],
    'Request line and headers': [maxHeaderSize / 1024],
    'Time for a request to arrive': [
      defaultTimeouts.request / 1000,
      defaultTimeouts.headers / 1000,
    ],
    'Lifetime of a key': [keyDays],
    'Writes by one developer': [writeLimit],
    'Refused keys from one address': [refusedKeyLimit],
  })
})

const allowsEmpty = ({ maxItems, minLength = 0, pattern = '' }: Schema) =>
  maxItems !== undefined || (minLength === 0 && new RegExp(pattern).test(''))

test.for(ownerTexts)('the description of %s says if none is allowed', ([, schema]) => {
  expect(/empty( list)? means none/.test(schema.description ?? '')).toBe(allowsEmpty(schema))
})

test('the introduction names the fields without white space around them', () => {
  const [sentence = ''] = /White space around a[^.]*/.exec(document.info.description) ?? []
  const named = [...sentence.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  const isTrimmed = ({ description }: Schema) =>
    /White space around it is removed/.test(description ?? '')
  const fields = ownerTexts.flatMap(([name, schema]) => (isTrimmed(schema) ? [name] : []))
  expect(named.toSorted()).toEqual(fields.toSorted())
})

/** The sort key of the order by rating, as a rating. */
const weighted = (ratings: number, mean: number) =>
  Number(
    (ratingColumns({ count: ratings, sum: 100 * ratings * mean }).weighted_rating / 1e6).toFixed(2),
  )

test.for<[sentence: RegExp, text: string, numbers: number[]]>([
  [
    /its newest \d+ reviews/,
    document.paths['/apps/{id}'].get.description,
    [schemas.App.properties.reviews.maxItems],
  ],
  [
    /More than.*/,
    parameters.Limit.description,
    [parameters.Limit.schema.maximum, parameters.Limit.schema.maximum],
  ],
  [/at most its first [\d,]+ apps/, parameters.Search.description, [maxMatches]],
  [/One rating of 5\s+gives [\d.]+/, parameters.Sort.description, [5, weighted(1, 5)]],
  [/average 4.6 give 4.5/, parameters.Sort.description, [4.6, weighted(100, 4.6)]],
  [/: \d+–\d+ visible/, parameters.IdempotencyKey.description, idempotencyKeyLength],
  [/within \d+ hours/, parameters.IdempotencyKey.description, [idempotencyHours]],
  [/over \d+ KiB/, responses.PayloadTooLarge.description, [maxBodyKibibytes]],
])('the document says %s', ([sentence, text, numbers]) => {
  const [found = ''] = sentence.exec(text) ?? []
  expect(numbersIn(found)).toEqual(numbers)
})

test('the document says the version of a new app without one', () => {
  const { description } = schemas.NewApp.properties.version
  expect(description).toContain(`\`${defaultVersion}\` if it is left out.`)
  expect(document.info.description).toContain(`default \`${defaultVersion}\``)
})

/** The numbers in sentences of the introduction, and where they come from. */
const introduced: [sentence: RegExp, numbers: number[]][] = [
  // What the samples need.
  [/curl need [\d.]+\s+or\s+later/, [7.84]],
  [/Node [\d.]+ or later/, [22.18]],
  [/Python \([\d.]+ or later/, [3.9]],
  [/It expires after \d+ days/, [keyDays]],
  [/\d+–\d+ letters, digits/, [1, headers.RequestId.schema.maxLength]],
  [/Within \d+ hours/, [idempotencyHours]],
  [/headers are over \d+ KiB/, [maxHeaderSize / 1024]],
  [/at most its first [\d,]+ apps/, [maxMatches]],
  [/RateLimit-Policy: "writes";.*/, [readConfig({}).writeLimit, 60]],
  [/`page` starts at \d+/, [parameters.Page.schema.minimum]],
  // DNS and TCP.
  [/has\s+more\s+than\s+\d+\s+characters/, [63]],
  [/with the dots, they have at most \d+/, [253]],
  [/is from \d+ to \d+/, [1, 65_535]],
]

test.for(introduced)('the introduction says %s', ([sentence, numbers]) => {
  expect(numbersIn(sentence.exec(document.info.description)?.[0] ?? '')).toEqual(numbers)
})

test('the introduction lists exactly the error codes, with their statuses', async () => {
  const definition: Document = JSON.parse(JSON.stringify(document))
  const api = await new OpenAPIBackend({ definition, quick: true }).init()
  // openapi-backend has resolved the references, which its types do not reflect.
  const operations = api.getOperations() as unknown as { responses: Record<string, Response> }[]
  const declared = operations.flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, { content }]) =>
      codesIn(content?.['application/json'].schema).map((code) => `${status} ${code}`),
    ),
  )
  const listed = [...document.info.description.matchAll(/^\| (\d{3}) `(\w+)` +\|/gm)].map(
    ([, status, code]) => `${status} ${code}`,
  )
  expect(listed.toSorted()).toEqual([...new Set(declared)].toSorted())
})

type Response = { content?: { 'application/json': { schema: Schema } } }

/** The values of `code` anywhere in a schema. */
const codesIn = (schema: Schema | undefined): unknown[] =>
  Object.entries(schema?.properties ?? {}).flatMap(([name, property]) =>
    name === 'code' ? (property.enum ?? []) : codesIn(property),
  )

test('the document says how a key is sent', () => {
  expect(document.components.securitySchemes.apiKey).toMatchObject({
    type: 'http',
    scheme: 'bearer',
  })
})

test('the pages for operators state the limits of connections, queues, the shutdown and a network that hangs', () => {
  const operating = ['running', 'scaling']
    .map((page) => read(`docs/${page}.md`).replaceAll(/\s+/g, ' '))
    .join('\n')
  const { connections, waiting } = defaultConnectionLimits
  const { idle, drainDelay, drainLimit } = defaultTimeouts
  const numbersOf = (sentence: RegExp) => numbersIn(sentence.exec(operating)?.[0] ?? '')
  expect(numbersOf(/\| connections \| [\d,]+/)).toEqual([connections])
  expect(numbersOf(/\| pipelined requests that wait[^|]+\| [\d,]+/)).toEqual([waiting])
  expect(numbersOf(/\| bodies that are arriving[^|]+\| \d+ MiB/)).toEqual([
    clientBuffers.maxSize / 2 ** 20,
  ])
  expect(numbersOf(/\| seconds without a byte[^|]+\| \d+/)).toEqual([idle / 1000])
  const { expensive, cheap, write } = queueLimits
  expect(numbersOf(/up to [\d,]+ expensive reads, [\d,]+ other reads and [\d,]+ writes/)).toEqual(
    [expensive, cheap, write].map(({ queueLimit }) => queueLimit),
  )
  expect(operating).toContain('after half a second, other reads after two, writes after five')
  expect([expensive, cheap, write].map(({ queueTimeout }) => queueTimeout)).toEqual([
    500, 2000, 5000,
  ])
  expect(operating).toContain('For one second the server still accepts requests')
  expect(drainDelay).toBe(1000)
  expect(drainLimit).toBeLessThan(exitLimit)
  expect(numbersOf(/The process exits within \d+ seconds/)).toEqual([10])
  expect(exitLimit).toBeLessThan(10_000)
  expect(numbersOf(/(?<=requests get a 503 )within \d+ s/)).toEqual([30])
  expect(writeTimeout).toBeLessThan(30_000)
})

test('docs/operating.md lists exactly the commands', async () => {
  const [, section = ''] = /^## Commands$([\s\S]*)/m.exec(read('docs/operating.md')) ?? []
  const listed = [...section.matchAll(/^\.\/apps-service ([a-z]+(?: [a-z]+)?)/gm)].map(
    ([, name = '']) => name,
  )
  const names = leafCommands(await programFor('')).map(({ name }) => name)
  expect(listed.toSorted()).toEqual(names.toSorted())
})

test('every decision is in the index with its title, and no number is used twice', () => {
  const titles = records.map((name) => {
    const [title = ''] = read(`docs/decisions/${name}`).split('\n', 1)
    expect(title).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. `))
    return `- [${title.replace('# ', '')}](${name})`
  })
  const index = read('docs/decisions/README.md')
    .split('\n')
    .filter((line) => line.startsWith('- '))
  expect(index.toSorted()).toEqual(titles.toSorted())
  expect(new Set(records.map((name) => name.slice(0, 4))).size).toBe(records.length)
})

/** The numbers of a text, `code` aside. */
function numbersIn(text: string): number[] {
  const digits = text.replaceAll(/`[^`]*\w\.\w[^`]*`/g, '').match(/\d[\d,]*(\.\d+)?/g) ?? []
  return digits.map((number) => Number(number.replaceAll(',', '')))
}

/** Sources, unit files and pages, without packages and what is generated. */
const textFiles = () =>
  globSync(
    '{src,test,deploy,scripts,examples,openapi,docs,.ci}/**/*.{ts,md,yaml,yml,service,timer,sql}',
    { cwd: root, exclude: ['**/node_modules'] },
  )

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
