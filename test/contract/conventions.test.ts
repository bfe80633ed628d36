import { execFile } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '../..')

/** Changes a copy of the document in a folder. */
type Change = (folder: string) => void
type Row = [breaks: string, change: Change, rule: string, advice: string | string[]]

/** Changes a file, or one entry of a file: `responses.yaml#/Forbidden`. */
const replace =
  (place: string, from: string, to: string): Change =>
  (folder) => {
    const [file = '', name] = place.split('#/')
    const text = readFileSync(join(folder, file), 'utf8')
    const entries = name === undefined ? [text] : text.split(/^(?=\w)/m)
    const part = entries.find((entry) => name === undefined || entry.startsWith(`${name}:`)) ?? ''
    if (!part.includes(from)) throw new Error(`${place} has no ${from}`)
    writeFileSync(
      join(folder, file),
      text.replace(part, () => part.replace(from, to)),
    )
  }

/** Moves a file and updates a reference to it. */
const move =
  (from: string, to: string, referrer: string, reference: [from: string, to: string]): Change =>
  (folder) => {
    renameSync(join(folder, from), join(folder, to))
    replace(referrer, ...reference)(folder)
  }

const combine =
  (...changes: Change[]): Change =>
  (folder) => {
    for (const change of changes) change(folder)
  }

const withoutParameter = (path: string, name: string) =>
  replace(`paths/${path}.yaml`, `    - $ref: ../parameters.yaml#/${name}\n`, '')

const saying = (path: string, operationId: string, more: string) =>
  replace(
    `paths/${path}.yaml`,
    `operationId: ${operationId}\n`,
    `operationId: ${operationId}\n  ${more}\n`,
  )

const withoutStatus = (path: string, status: string, response: string) =>
  replace(
    `paths/${path}.yaml`,
    `    "${status}":\n      $ref: ../responses.yaml#/${response}\n`,
    '',
  )

const ownEnvelope =
  'Give the error Forbidden its own ForbiddenEnvelope, with data in ForbiddenError, both in schemas/errors.yaml'
const toCode = 'Require data.code of an error, with an enum of the codes that it can carry'
const flat = 'Write the envelope flat: success, message, data, all required'
const toName = 'Let the schema be the $ref of an envelope, which gives it a name'

const validDocuments: [what: string, change: Change][] = [
  ['the document', () => {}],
  [
    'an error that is written where its path is',
    (folder) => {
      const responses = readFileSync(join(folder, 'responses.yaml'), 'utf8').replaceAll(
        '$ref: ',
        '$ref: ../',
      )
      const response = JSON.stringify(parse(responses).MethodNotAllowed)
      replace('paths/apps.yaml', '$ref: ../responses.yaml#/MethodNotAllowed', response)(folder)
    },
  ],
]

const brokenDocuments: Row[] = [
  [
    'a closed response',
    replace('schemas/App.yaml', 'type: object\n', 'type: object\nadditionalProperties: false\n'),
    'conventions/closed',
    'Leave additionalProperties out of a response, so that fields can be added',
  ],
  [
    'a response with additionalProperties: true',
    replace('schemas/Review.yaml', 'type: object\n', 'type: object\nadditionalProperties: true\n'),
    'conventions/closed',
    'Leave additionalProperties out of a response, so that fields can be added',
  ],
  [
    'an open request',
    replace('schemas/AppChanges.yaml', 'additionalProperties: false\n', ''),
    'conventions/closed',
    'Close the request: additionalProperties: false',
  ],
  [
    'two errors with one envelope',
    replace('responses.yaml#/Forbidden', 'ForbiddenEnvelope', 'UnauthorizedEnvelope'),
    'conventions/envelope',
    [ownEnvelope, 'Give each status its own codes: unauthorized also belongs to 401'],
  ],
  [
    'two errors with one data schema',
    replace('schemas/errors.yaml#/ForbiddenEnvelope', '#/ForbiddenError', '#/UnauthorizedError'),
    'conventions/envelope',
    [ownEnvelope, 'Give each status its own codes: unauthorized also belongs to 401'],
  ],
  [
    "an error's data in a file of its own",
    combine(
      (folder) => {
        const { ForbiddenError } = parse(readFileSync(join(folder, 'schemas/errors.yaml'), 'utf8'))
        const own = JSON.stringify(ForbiddenError).replace('#/', 'errors.yaml#/')
        writeFileSync(join(folder, 'schemas/ForbiddenError.yaml'), own)
      },
      replace(
        'schemas/errors.yaml#/ForbiddenEnvelope',
        '"#/ForbiddenError"',
        'ForbiddenError.yaml',
      ),
    ),
    'conventions/envelope',
    ownEnvelope,
  ],
  [
    'a code with two statuses',
    replace('schemas/errors.yaml', 'enum: [forbidden]', 'enum: [forbidden, unauthorized]'),
    'conventions/envelope',
    'Give each status its own codes: unauthorized also belongs to 401',
  ],
  [
    'an error without a code',
    replace('schemas/errors.yaml#/ForbiddenError', '  required: [code]\n', ''),
    'conventions/envelope',
    toCode,
  ],
  [
    'an envelope with an optional message',
    replace('schemas/DeletedAppEnvelope.yaml', '[success, message, data]', '[success, data]'),
    'conventions/envelope',
    flat,
  ],
  [
    'an envelope with a fourth field',
    replace(
      'schemas/DeletedAppEnvelope.yaml',
      'properties:',
      'properties:\n  meta:\n    $ref: DeletedApp.yaml',
    ),
    'conventions/envelope',
    flat,
  ],
  [
    'a response without an envelope',
    replace('responses.yaml#/Forbidden', 'ForbiddenEnvelope', 'ForbiddenError'),
    'conventions/envelope',
    [flat, ownEnvelope],
  ],
  [
    'a response without a schema',
    replace(
      'responses.yaml',
      '      schema:\n        $ref: schemas/errors.yaml#/ForbiddenEnvelope\n',
      '',
    ),
    'conventions/envelope',
    [flat, ownEnvelope, toName],
  ],
  [
    'a success with success: false',
    replace('schemas/DeletedAppEnvelope.yaml', 'enum: [true]', 'enum: [false]'),
    'conventions/envelope',
    'Let success be a boolean with enum: [true]',
  ],
  [
    'an error in the envelope of a success',
    replace('responses.yaml', 'errors.yaml#/ForbiddenEnvelope', 'DeletedAppEnvelope.yaml'),
    'conventions/envelope',
    ['Let success be a boolean with enum: [false]', ownEnvelope, toCode],
  ],
  [
    'a message that is a number',
    replace('schemas/DeletedAppEnvelope.yaml', 'Message.yaml', 'AppId.yaml'),
    'conventions/envelope',
    'Let message be a string',
  ],
  [
    'an envelope without a name',
    (folder) => {
      const file = join(folder, 'schemas/CategoryListEnvelope.yaml')
      const envelope = JSON.stringify(parse(readFileSync(file, 'utf8'))).replaceAll(
        /[A-Z]\w+\.yaml/g,
        '../schemas/$&',
      )
      rmSync(file)
      replace(
        'paths/categories.yaml',
        'schema:\n            $ref: ../schemas/CategoryListEnvelope.yaml',
        `schema: ${envelope}`,
      )(folder)
    },
    'conventions/envelope',
    toName,
  ],
  [
    'data without a name',
    replace('schemas/DeletedAppEnvelope.yaml', '$ref: DeletedApp.yaml', 'type: object'),
    'conventions/envelope',
    'Let data be the $ref of an object schema, which gives it a name',
  ],
  [
    'data that is a number',
    replace('schemas/DeletedAppEnvelope.yaml', 'DeletedApp.yaml', 'AppId.yaml'),
    'conventions/envelope',
    'Let data be the $ref of an object schema, which gives it a name',
  ],
  [
    'a response without a common header',
    replace(
      'responses.yaml#/Forbidden',
      '    X-Request-Id:\n      $ref: headers.yaml#/RequestId\n',
      '',
    ),
    'response-contains-header',
    'Response object must contain a "X-Request-Id" header.',
  ],
  ...[
    ['400', 'InvalidParameters'],
    ['401', 'Unauthorized'],
    ['405', 'MethodNotAllowed'],
    ['406', 'NotAcceptable'],
    ['500', 'InternalError'],
    ['503', 'Unavailable'],
  ].map(
    ([status = '', response = '']): Row => [
      `an operation without ${status}`,
      withoutStatus('apps', status, response),
      'rule/errors',
      `Declare this response, which any request can get: ${status} is required`,
    ],
  ),
  [
    'a read without 304',
    withoutStatus('apps', '304', 'PageNotModified'),
    'rule/errors-of-reads',
    'Declare this response to If-None-Match: 304 is required',
  ],
  [
    'the path of an item without 404',
    withoutStatus('apps_{id}', '404', 'NotFound'),
    'rule/errors-of-one',
    'Declare this response of a path with an id: 404 is required',
  ],
  ...[
    ['403', 'Forbidden'],
    ['412', 'PreconditionFailed'],
  ].map(
    ([status = '', response = '']): Row => [
      `a change of an item without ${status}`,
      withoutStatus('apps_{id}', status, response),
      'rule/errors-of-changes',
      `Declare this response to a change of one item: ${status} is required`,
    ],
  ),
  ...[
    ['408', 'RequestTimeout'],
    ['413', 'PayloadTooLarge'],
    ['415', 'UnsupportedMediaType'],
    ['422', 'UnprocessableApp'],
  ].map(
    ([status = '', response = '']): Row => [
      `a request with a body without ${status}`,
      withoutStatus('apps', status, response),
      'rule/errors-of-bodies',
      `Declare this response to a request with a body: ${status} is required`,
    ],
  ),
  [
    'an array without maxItems',
    replace('schemas/Problems.yaml', 'maxItems: 100\n', ''),
    'rule/limits-of-arrays',
    'Limit the length of the array: maxItems is required',
  ],
  [
    'a number without a maximum',
    replace('schemas/Downloads.yaml', 'maximum: 9007199254740991\n', ''),
    'rule/limits-of-numbers',
    'Limit the range of the number: maximum is required',
  ],
  [
    'a number without a minimum',
    replace('schemas/AverageRating.yaml', 'minimum: 0\n', ''),
    'rule/limits-of-numbers',
    'Limit the range of the number: minimum is required',
  ],
  [
    'a string without maxLength',
    replace('schemas/Message.yaml', 'maxLength: 500\n', ''),
    'rule/limits-of-strings',
    'Limit the length of the string: Should have any of maxLength, enum',
  ],
  ...['minimum: 1', 'maximum: 100', 'default: 20'].map(
    (limit): Row => [
      `a limit without its ${limit}`,
      replace('parameters.yaml#/Limit', `    ${limit}\n`, ''),
      'conventions/paging',
      'Give limit a minimum, a maximum and a default',
    ],
  ),
  ...['Page', 'Limit'].map(
    (name): Row => [
      `a list without ${name}`,
      withoutParameter('apps', name),
      'conventions/paging',
      `Add the parameter ${name.toLowerCase()}, or x-unpaged: true if the list is always returned whole`,
    ],
  ),
  [
    'a list that does not say how clients read all pages',
    replace('paths/apps.yaml', 'style: link', 'style: page'),
    'conventions/paging',
    'Add x-redoclyPagination with style: link, by which generated clients read all pages',
  ],
  [
    'a list without pages that has a page',
    combine(withoutParameter('apps', 'Limit'), saying('apps', 'listApps', 'x-unpaged: true')),
    'conventions/paging',
    'Delete x-unpaged or page: a list without pages has neither',
  ],
  [
    'a list with another value of x-unpaged',
    combine(
      withoutParameter('apps', 'Page'),
      withoutParameter('apps', 'Limit'),
      saying('apps', 'listApps', 'x-unpaged: always'),
    ),
    'conventions/paging',
    'Use x-unpaged only in a list, with the value true',
  ],
  [
    'x-unpaged outside a list',
    saying('apps_{id}', 'getApp', 'x-unpaged: true'),
    'conventions/paging',
    'Use x-unpaged only in a list, with the value true',
  ],
  [
    'a read without If-None-Match',
    withoutParameter('apps_{id}', 'IfNoneMatch'),
    'conventions/parameters',
    'Add the parameter If-None-Match',
  ],
  [
    'a change of an item without If-Match',
    withoutParameter('apps_{id}', 'IfMatch'),
    'conventions/parameters',
    'Add the parameter If-Match',
  ],
  ...['curl', 'TypeScript', 'Python'].map(
    (label): Row => [
      `an operation without a sample in ${label}`,
      replace('paths/apps.yaml', `label: ${label}\n`, 'label: Basic\n'),
      'conventions/samples',
      `Add a sample with the label ${label} to x-codeSamples`,
    ],
  ),
  [
    'a sample with a long line',
    replace('paths/apps.yaml', 'search=tide table', `search=${'a'.repeat(50)}`),
    'conventions/samples',
    'Break the lines of the curl sample at 56 characters',
  ],
  ...[
    ['apps', 'listApps', 'getApps', 'list'],
    ['apps', 'createApp', 'addApp', 'create'],
    ['apps_{id}', 'getApp', 'readApp', 'get'],
    ['apps_{id}', 'updateApp', 'update_app', 'update'],
    ['apps_{id}', 'deleteApp', 'delete', 'delete'],
  ].map(
    ([path = '', id = '', other = '', verb = '']): Row => [
      `${id} named ${other}`,
      replace(`paths/${path}.yaml`, `operationId: ${id}`, `operationId: ${other}`),
      'conventions/operation-id',
      `Begin the operationId with ${verb}, and a noun in camelCase`,
    ],
  ),
  [
    'a file whose name is not PascalCase',
    move('schemas/Review.yaml', 'schemas/app-review.yaml', 'schemas/App.yaml', [
      'Review.yaml',
      'app-review.yaml',
    ]),
    'conventions/files',
    'Keep this in openapi/schemas/AppReview.yaml, and refer to it there',
  ],
  [
    'an entry whose name is not PascalCase',
    combine(
      replace('headers.yaml', 'Location:', 'app-url:'),
      replace('paths/apps.yaml', 'yaml#/Location', 'yaml#/app-url'),
    ),
    'conventions/files',
    'Keep this in openapi/headers.yaml#/AppUrl, and refer to it there',
  ],
  [
    'a file in the folder of another kind',
    move('schemas/Review.yaml', 'paths/Review.yaml', 'schemas/App.yaml', [
      'Review.yaml',
      '../paths/Review.yaml',
    ]),
    'conventions/files',
    'Keep this in openapi/schemas/Review.yaml, and refer to it there',
  ],
  [
    'a header with its own file',
    combine(
      (folder) =>
        writeFileSync(
          join(folder, 'schemas/Place.yaml'),
          'description: URL.\nschema:\n  type: string\n',
        ),
      replace('paths/apps.yaml', '../headers.yaml#/Location', '../schemas/Place.yaml'),
    ),
    'conventions/files',
    [
      'Keep this in openapi/headers.yaml#/Place, and refer to it there',
      'Refer to headers.yaml#/Location or delete it: nothing does',
    ],
  ],
  [
    'a path in a file with another name',
    move('paths/apps.yaml', 'paths/catalogue.yaml', 'openapi.yaml', [
      'paths/apps.yaml',
      'paths/catalogue.yaml',
    ]),
    'conventions/files',
    'Keep this in openapi/paths/apps.yaml, and refer to it there',
  ],
  [
    'a reference into a file',
    replace('schemas/CreatedApp.yaml', '$ref: AppId.yaml', '$ref: Review.yaml#/properties/id'),
    'conventions/files',
    'Keep this in openapi/schemas/Id.yaml, and refer to it there',
  ],
  [
    'a particular header after common ones',
    replace(
      'responses.yaml#/Unavailable',
      '    Retry-After:\n      $ref: headers.yaml#/RetryAfter\n    RateLimit-Policy:\n      $ref: headers.yaml#/RateLimitPolicy\n',
      '    RateLimit-Policy:\n      $ref: headers.yaml#/RateLimitPolicy\n    Retry-After:\n      $ref: headers.yaml#/RetryAfter\n',
    ),
    'conventions/headers',
    'Move Retry-After up, before RateLimit-Policy, which many responses have',
  ],
  [
    'a parameter with the name of a schema',
    combine(
      replace('parameters.yaml', '\nPage:', '\nPagination:'),
      replace('paths/apps.yaml', 'yaml#/Page\n', 'yaml#/Pagination\n'),
    ),
    'conventions/names',
    'Rename all but one: the parameter Pagination, the schema Pagination have the same name for generators',
  ],
  [
    'a header with the name of a response in other case',
    combine(
      replace('headers.yaml', 'Location:', 'NOTFOUND:'),
      replace('paths/apps.yaml', 'yaml#/Location', 'yaml#/NOTFOUND'),
    ),
    'conventions/names',
    'Rename all but one: the header NOTFOUND, the response NotFound have the same name for generators',
  ],
  [
    'an enum named after a reserved word',
    replace(
      'schemas/Review.yaml',
      '  comment:',
      '  default:\n    type: string\n    enum: [a]\n  comment:',
    ),
    'conventions/names',
    'Give the values of default their own file: generators name them after the field, a reserved word',
  ],
  [
    'an unused file',
    (folder) => writeFileSync(join(folder, 'schemas/Orphan.yaml'), 'type: object\n'),
    'conventions/files',
    'Refer to schemas/Orphan.yaml or delete it: nothing does',
  ],
  [
    'an unused entry of a file with several',
    (folder) =>
      appendFileSync(
        join(folder, 'schemas/errors.yaml'),
        'OrphanCode:\n  type: string\n  enum: [orphan]\n',
      ),
    'conventions/files',
    'Refer to schemas/errors.yaml#/OrphanCode or delete it: nothing does',
  ],
  [
    'a response without an example',
    replace(
      'paths/apps_{id}.yaml',
      '          examples:\n            deleted:\n              $ref: ../examples/DeletedApp.yaml\n',
      '',
    ),
    'rule/examples',
    'Add an example: Should have any of example, examples',
  ],
  [
    'a request without an example',
    replace(
      'paths/apps_{id}.yaml',
      '        examples:\n          text:\n            $ref: ../examples/AppChanges.yaml\n',
      '',
    ),
    'rule/examples',
    'Add an example: Should have any of example, examples',
  ],
]

describe('the linter', () => {
  let folder: string
  /** First those of the valid documents, then those of each row. */
  let findings: { ruleId: string; message: string }[][]

  // All in one process, since starting it takes longer than its work.
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'conventions-'))
    const documents = [...validDocuments, ...brokenDocuments].map(([, change], index) => {
      const copy = join(folder, String(index), 'openapi')
      cpSync(join(root, 'openapi'), copy, { recursive: true })
      change(copy)
      return join(copy, 'openapi.yaml')
    })
    findings = await lint(documents)
  }, 120_000)
  afterAll(() => rmSync(folder, { recursive: true }))

  test.for(validDocuments.map(([what], index) => [what, index] as const))(
    'finds nothing in %s',
    ([, index]) => {
      expect(findings[index]).toEqual([])
    },
  )

  test.for(brokenDocuments.map((row, index) => [...row, validDocuments.length + index] as const))(
    'finds %s',
    ([, , rule, advice, index]) => {
      const messages = findings[index]
        ?.filter(({ ruleId }) => ruleId === rule)
        .map(({ message }) => message)
      expect(new Set(messages)).toEqual(new Set([advice].flat()))
    },
  )
})

async function lint(documents: string[]): Promise<{ ruleId: string; message: string }[][]> {
  const cli = join(root, 'node_modules/@redocly/cli/bin/cli.js')
  const flags = [
    '--config',
    join(root, 'redocly.yaml'),
    '--format',
    'json',
    '--max-problems',
    '1000',
    // Half the time; make lint runs it on the document.
    '--skip-rule',
    'no-invalid-media-type-examples',
  ]
  const output = await promisify(execFile)(
    process.execPath,
    [cli, 'lint', ...documents, ...flags],
    {
      maxBuffer: 2 ** 26,
    },
  ).catch((error: { stdout: string }) => error)
  // An object a document, with nothing between them.
  return output.stdout.split(/(?<=^\})(?=\{$)/m).map((object) => JSON.parse(object).problems)
}
