import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }
import { temporaryFolder } from '../support/database.ts'
import { type Bump, changesBetween } from './changes.ts'
import { compare, Refusal } from './diff.ts'

const root = `${import.meta.dirname}/../..`
const releasedFile = 'generated/released.json'

/** A part of the document. Its type is any because changes may make it invalid. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Contract = any

const first = '1.4.2'

/** A directory with the document of a release, and nothing changed since. */
function released(): string {
  const folder = temporaryFolder()
  for (const directory of ['generated', 'docs']) mkdirSync(join(folder, directory))
  writeFileSync(join(folder, releasedFile), JSON.stringify(contractOf(first)))
  write(folder, first)
  return folder
}

/** The document with another version and a change. */
function contractOf(version: string, change: (contract: Contract) => void = () => {}): Contract {
  const contract: Contract = structuredClone(document)
  contract.info.version = version
  change(contract)
  return contract
}

function write(folder: string, version: string, change?: (contract: Contract) => void) {
  writeFileSync(join(folder, 'generated/openapi.json'), JSON.stringify(contractOf(version, change)))
  writeChangelog(folder, `## [${version}] - Unreleased`, news, `## [${first}] - 2026-11-20`)
}

/** Names the operations that tests add. */
const news = '`PATCH /apps/{id}` and `GET /shelves` are new.'

const writeChangelog = (folder: string, ...headings: string[]) =>
  writeFileSync(join(folder, 'docs/api-changes.md'), ['# Changelog', ...headings].join('\n\n'))

/** The lines that it prints, and the reason for a refusal. */
async function diff(folder: string) {
  const lines: string[] = []
  const refusal = await compare(folder, (line) => lines.push(line)).then(
    () => '',
    (error) => {
      if (error instanceof Refusal) return error.message
      throw error
    },
  )
  return { lines, refusal }
}

const list = ({ paths }: Contract) => paths['/apps'].get
const create = ({ paths }: Contract) => paths['/apps'].post
const read = ({ paths }: Contract) => paths['/apps/{id}'].get
const schema = ({ components }: Contract, name: string) => components.schemas[name]
const parameter = ({ components }: Contract, name: string) =>
  Object.values<Contract>(components.parameters).find((one) => one.name === name)
const header = ({ components }: Contract, name: string) => components.headers[name]
const without = (names: string[], name: string) => names.filter((one) => one !== name)
/** The schema of a status's `data.code`. */
const code = ({ components }: Contract) => components.schemas.NotFoundCode

const text = { type: 'string', maxLength: 10 }
/** Replaces a reference by its schema, so that a change affects only this place. */
const own = (contract: Contract, name: string, change: object) => ({
  ...schema(contract, name),
  ...change,
})

describe('requires of info.version', () => {
  test.for<[needed: Bump, what: string, change: (contract: Contract) => void]>([
    ['none', 'nothing', () => {}],
    ['patch', 'a description of an operation', (c) => (list(c).description = 'Otherwise.')],
    ['patch', 'the introduction', (c) => (c.info.description = 'Otherwise.')],
    [
      'patch',
      'a description of a schema',
      (c) => (schema(c, 'AppName').description = 'Otherwise.'),
    ],
    ['patch', 'an example', (c) => (c.components.examples.AppPage.value.message = 'Otherwise.')],
    ['patch', 'an example of a header', (c) => (header(c, 'ETag').example = '"x"')],
    ['patch', 'code samples', (c) => (list(c)['x-codeSamples'] = [])],
    ['patch', 'the order of tags', (c) => c.tags.reverse()],
    ['patch', 'the order of parameters', (c) => list(c).parameters.reverse()],

    ['major', 'an operation goes', (c) => delete c.paths['/apps/{id}'].delete],
    ['major', 'a path goes', (c) => delete c.paths['/apps/{id}']],
    [
      'minor',
      'a new operation',
      (c) =>
        (c.paths['/apps/{id}'].patch = { ...c.paths['/apps/{id}'].put, operationId: 'patchApp' }),
    ],
    [
      'minor',
      'a path comes',
      (c) => (c.paths['/shelves'] = { get: { ...list(c), operationId: 'listShelves' } }),
    ],
    ['minor', 'an operation is deprecated', (c) => (list(c).deprecated = true)],
    [
      'major',
      'the operationId, which clients call functions by',
      (c) => (list(c).operationId = 'listAll'),
    ],

    [
      'minor',
      'an optional parameter comes',
      (c) => list(c).parameters.push({ name: 'a', in: 'query', schema: text }),
    ],
    [
      'major',
      'a new required parameter',
      (c) => list(c).parameters.push({ name: 'a', in: 'query', required: true, schema: text }),
    ],
    ['major', 'a parameter goes', (c) => list(c).parameters.pop()],
    ['major', 'a parameter becomes required', (c) => (parameter(c, 'If-Match').required = true)],
    [
      'major',
      'the type of a parameter',
      (c) => (parameter(c, 'search').schema = { type: 'integer' }),
    ],
    ['major', 'a default', (c) => (parameter(c, 'limit').schema.default = 10)],
    [
      'major',
      'a maximum of a parameter shrinks',
      (c) => (parameter(c, 'limit').schema.maximum = 50),
    ],
    [
      'minor',
      'a maximum of a parameter grows',
      (c) => (parameter(c, 'limit').schema.maximum = 200),
    ],
    ['minor', 'a parameter takes one more value', (c) => schema(c, 'SortOrder').enum.push('name')],
    ['major', 'a parameter takes one value less', (c) => schema(c, 'SortOrder').enum.shift()],

    [
      'minor',
      'an optional field of a body comes',
      (c) => (schema(c, 'NewApp').properties.colour = text),
    ],
    [
      'major',
      'a new required field of a body',
      (c) => {
        schema(c, 'NewApp').properties.colour = text
        schema(c, 'NewApp').required.push('colour')
      },
    ],
    [
      'major',
      'a field of a body goes, and is refused',
      (c) => delete schema(c, 'NewApp').properties.version,
    ],
    [
      'minor',
      'a newly optional field of a body',
      (c) => (schema(c, 'NewApp').required = without(schema(c, 'NewApp').required, 'description')),
    ],
    [
      'major',
      'a field of a body becomes required',
      (c) => schema(c, 'NewApp').required.push('version'),
    ],
    [
      'major',
      'a smaller maxLength in a body',
      (c) => (schema(c, 'NewApp').properties.name = own(c, 'NewAppName', { maxLength: 50 })),
    ],
    [
      'minor',
      'a larger maxLength in a body',
      (c) => (schema(c, 'NewApp').properties.name = own(c, 'NewAppName', { maxLength: 200 })),
    ],
    [
      'major',
      'a pattern in a body',
      (c) => (schema(c, 'NewApp').properties.name = own(c, 'NewAppName', { pattern: '^x$' })),
    ],
    [
      'major',
      'a newly required body',
      (c) => (c.paths['/apps/{id}'].delete.requestBody = { ...create(c).requestBody }),
    ],
    [
      'major',
      'the media type of a body',
      (c) =>
        (create(c).requestBody.content = {
          'text/json': create(c).requestBody.content['application/json'],
        }),
    ],

    ['minor', 'a field of an answer comes', (c) => (schema(c, 'App').properties.colour = text)],
    [
      'minor',
      'a new required field of a response',
      (c) => {
        schema(c, 'App').properties.colour = text
        schema(c, 'App').required.push('colour')
      },
    ],
    [
      'major',
      'a removed field of a response',
      (c) => {
        delete schema(c, 'App').properties.review_count
        schema(c, 'App').required = without(schema(c, 'App').required, 'review_count')
      },
    ],
    [
      'major',
      'an optional field of an answer goes',
      (c) => delete schema(c, 'App').properties.package_name,
    ],
    [
      'major',
      'a field called description goes',
      (c) => delete schema(c, 'App').properties.description,
    ],
    [
      'major',
      'a newly optional field of a response',
      (c) => (schema(c, 'App').required = without(schema(c, 'App').required, 'review_count')),
    ],
    [
      'major',
      'the type of a field of an answer',
      (c) => (schema(c, 'App').properties.review_count = text),
    ],
    [
      'major',
      'a field of a response without a type, and another text',
      (c) => {
        delete schema(c, 'AppName').type
        list(c).description = 'Otherwise.'
      },
    ],
    [
      'major',
      'a whole number of an answer may have decimals',
      (c) => (schema(c, 'Downloads').type = 'number'),
    ],
    [
      'major',
      'a newly nullable field of a response',
      (c) => (schema(c, 'App').properties.slug = own(c, 'AppSlug', { nullable: true })),
    ],
    [
      'major',
      'the format of a field of an answer',
      (c) => (schema(c, 'Timestamp').format = 'date'),
    ],
    [
      'major',
      'the pattern of a field of a response',
      (c) => (schema(c, 'App').properties.slug = { ...text, pattern: '^x$' }),
    ],
    ['major', 'a length in an answer grows', (c) => (schema(c, 'DeveloperName').maxLength = 1000)],
    ['minor', 'a length in an answer shrinks', (c) => (schema(c, 'DeveloperName').maxLength = 10)],
    ['major', 'a status of an app comes', (c) => schema(c, 'AppStatus').enum.push('frozen')],
    ['major', 'a status gets another error code', (c) => code(c).enum.unshift('teapot')],
    ['major', 'an error code is another', (c) => (code(c).enum = ['teapot'])],
    [
      'major',
      'the media type of a response',
      (c) =>
        (read(c).responses[200].content = {
          'text/json': read(c).responses[200].content['application/json'],
        }),
    ],

    ['major', 'an answer is closed', (c) => (schema(c, 'App').additionalProperties = false)],
    ['major', 'an answer has an index', (c) => (schema(c, 'App').additionalProperties = true)],
    ['major', 'a request is open', (c) => delete schema(c, 'NewApp').additionalProperties],
    [
      'minor',
      'a new status with its own code',
      (c) => {
        const { Forbidden, ForbiddenEnvelope, ForbiddenError } = {
          ...c.components.responses,
          ...c.components.schemas,
        }
        c.components.schemas.GoneError = {
          ...ForbiddenError,
          properties: { code: { type: 'string', enum: ['gone'] } },
        }
        const data = { $ref: '#/components/schemas/GoneError' }
        c.components.schemas.GoneEnvelope = {
          ...ForbiddenEnvelope,
          properties: { ...ForbiddenEnvelope.properties, data },
        }
        const schema = { $ref: '#/components/schemas/GoneEnvelope' }
        read(c).responses[410] = { ...Forbidden, content: { 'application/json': { schema } } }
      },
    ],
    [
      'minor',
      'a status of an operation comes',
      (c) => (list(c).responses[410] = { ...list(c).responses[503] }),
    ],
    ['major', 'a status of an operation goes', (c) => delete read(c).responses[404]],
    [
      'major',
      'another success status',
      (c) => {
        create(c).responses[202] = create(c).responses[201]
        delete create(c).responses[201]
      },
    ],
    [
      'minor',
      'a new header of a response',
      (c) => (list(c).responses[200].headers['X-Total'] = { required: true, schema: text }),
    ],
    ['major', 'a header of an answer goes', (c) => delete list(c).responses[200].headers.Link],
    ['major', 'a header of an answer may be missing', (c) => (header(c, 'Link').required = false)],
    ['major', 'the pattern of a header', (c) => (header(c, 'ETag').schema.pattern = '^x$')],

    ['major', 'a key is demanded', (c) => delete list(c).security],
    ['minor', 'a key is no longer demanded', (c) => (create(c).security = [{}, { apiKey: [] }])],
    ['major', 'another kind of key', (c) => (c.components.securitySchemes.apiKey.scheme = 'basic')],
    ['major', 'another server', (c) => (c.servers[0].url = '/v2')],
    ['major', 'another version of OpenAPI', (c) => (c.openapi = '3.1.1')],
    [
      'major',
      'the name of a schema, which clients use for types',
      (c) =>
        Object.assign(
          c,
          JSON.parse(
            JSON.stringify(c).replaceAll('/AppSlug"', '/Slug"').replace('"AppSlug":', '"Slug":'),
          ),
        ),
    ],
    ['minor', 'a schema gets a name of its own', (c) => (c.components.schemas.Colour = text)],
  ])('%s: %s', async ([needed, , change]) => {
    const [largest] = await changesBetween(contractOf(first), contractOf(first, change))
    expect(largest?.bump ?? 'none').toBe(needed)
  })
})

const describeOtherwise = (contract: Contract) => (list(contract).description = 'Otherwise.')
const addField = (contract: Contract) => (schema(contract, 'App').properties.colour = text)
const removeOperation = (contract: Contract) => delete contract.paths['/apps/{id}'].delete

describe('a version after a change', () => {
  test.for<
    [
      version: string,
      change: (contract: Contract) => void,
      result: 'passes' | 'is refused',
      verdict: string,
    ]
  >([
    ['1.4.3', describeOtherwise, 'passes', 'needed is a patch, made is a patch (1.4.2 → 1.4.3).'],
    ['1.4.2', describeOtherwise, 'is refused', 'info.version must be 1.4.3 or higher.'],
    ['1.5.0', addField, 'passes', 'needed is a minor bump, made is a minor bump (1.4.2 → 1.5.0).'],
    ['1.4.3', addField, 'is refused', 'info.version must be 1.5.0 or higher.'],
    ['2.0.0', addField, 'passes', 'needed is a minor bump, made is a major bump (1.4.2 → 2.0.0).'],
    [
      '2.0.0',
      removeOperation,
      'passes',
      'needed is a major bump, made is a major bump (1.4.2 → 2.0.0).',
    ],
    ['1.9.9', removeOperation, 'is refused', 'info.version must be 2.0.0 or higher.'],
    [
      '0.9.0',
      removeOperation,
      'is refused',
      'needed is a major bump, made is no bump (1.4.2 → 0.9.0).',
    ],
    ['1.4.3', () => {}, 'is refused', 'info.version must be 1.4.2.'],
    ['1.4.1', () => {}, 'is refused', 'info.version must be 1.4.2.'],
  ])('%s after a change: %s', async ([version, change, result, verdict]) => {
    const folder = released()
    write(folder, version, change)
    const { lines, refusal } = await diff(folder)
    expect(`${lines.at(-1)} ${refusal}`).toContain(verdict)
    expect(refusal === '' ? 'passes' : 'is refused').toBe(result)
  })
})

test('lists changes, most severe first, and changes of a shared schema once', async () => {
  const folder = released()
  write(folder, '2.0.0', (contract) => {
    describeOtherwise(contract)
    addField(contract)
    removeOperation(contract)
    code(contract).enum.push('teapot')
    parameter(contract, 'limit').schema.maximum = 200
  })
  expect((await diff(folder)).lines).toEqual([
    'major  removed: /apps/{id} delete',
    'major  added: /apps/{id} get responses 404 data code enum 1 "teapot" (and in 1 more places)',
    'minor  changed: /apps get parameters 1 maximum 100 → 200 (and in 1 more places)',
    'minor  added: /apps/{id} get responses 200 data app colour (and in 1 more places)',
    'patch  changed: /apps get description "No key is needed. One page of the appr… → "Otherwise."',
    'Since 1.4.2: needed is a major bump, made is a major bump (1.4.2 → 2.0.0).',
  ])
})

describe('docs/api-changes.md', () => {
  test.for<[text: string, refusal: string]>([
    ['`GET /shelves` is new.', ''],
    ['Shelves are new.', 'does not name the new GET /shelves below 1.5.0'],
  ])('a new operation and "%s": %s', async ([text, expected]) => {
    const folder = released()
    write(folder, '1.5.0', (c) => {
      c.paths['/shelves'] = { get: { ...list(c), operationId: 'listShelves' } }
    })
    // Another section does not count.
    const last = `## [${first}] - 2026-11-20\n\n\`GET /shelves\``
    writeChangelog(folder, '## [1.5.0] - Unreleased', text, last)
    const { refusal } = await diff(folder)
    expect([refusal === '', refusal]).toEqual([expected === '', expect.stringContaining(expected)])
  })

  test.for<[heading: string, refusal: string]>([
    ['## [1.4.3] - Unreleased', ''],
    ['## [1.4.3]', 'has no section'],
    ['## [1.4.3] - soon', 'has no section'],
    ['## [1.4.4] - Unreleased', 'has no section'],
    ['### [1.4.3] - Unreleased', 'has no section'],
    ['', 'has no section'],
  ])('"%s": %s', async ([heading, expected]) => {
    const folder = released()
    write(folder, '1.4.3', describeOtherwise)
    writeChangelog(folder, heading, `## [${first}] - 2026-11-20`)
    const { refusal } = await diff(folder)
    expect([refusal === '', refusal]).toEqual([expected === '', expect.stringContaining(expected)])
  })
})

describe('the document of the last release', () => {
  test('without changes needs no other version', async () => {
    expect(await diff(released())).toEqual({
      lines: ['Since 1.4.2: needed is no bump, made is no bump (1.4.2 → 1.4.2).'],
      refusal: '',
    })
  })

  test('must be there', async () => {
    const folder = released()
    rmSync(join(folder, releasedFile))
    expect((await diff(folder)).refusal).toContain(`${releasedFile} is missing`)
  })

  test('must be replaced by each release', async () => {
    const folder = released()
    write(folder, '1.4.3', describeOtherwise)
    writeChangelog(folder, '## [1.4.3] - 2026-11-30', `## [${first}] - 2026-11-20`)
    expect((await diff(folder)).refusal).toContain(
      'the last release in docs/api-changes.md is 1.4.3',
    )
    const replacement = JSON.stringify(contractOf('1.4.3', describeOtherwise))
    writeFileSync(join(folder, releasedFile), replacement)
    expect(await diff(folder)).toEqual({
      lines: [expect.stringMatching(/^Since 1\.4\.3: needed is no bump/)],
      refusal: '',
    })
  })
})

test('make diff accepts the version of the document', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [`${import.meta.dirname}/diff.ts`],
    { cwd: root, encoding: 'utf8' },
  )
  expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' })
})
