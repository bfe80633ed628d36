import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import document from '../../generated/openapi.json' with { type: 'json' }

/** A response as received. */
export type HttpResponse = {
  method: string
  /** Without the base address's prefix and the query. */
  path: string
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

type Schema = { $ref?: string; type?: string }
type Header = { required?: boolean; schema: Schema }
type ResponseObject = {
  headers?: Record<string, Header>
  content?: Record<string, { schema: Schema }>
}
type Operation = { operationId: string; responses: Record<string, ResponseObject> }
type Contract = { paths: Record<string, Record<string, unknown>> }

const methods = ['get', 'post', 'put', 'patch', 'delete']

/** Paths of the service that the document does not describe. */
const isUndescribedPath = (path: string) =>
  /^\/?$|^\/(openapi\.(json|yaml)|life-cycle\.arazzo\.yaml|changelog\.md|docs(\/[\w-]{27}\.js)?|healthz|readyz)$/.test(
    path,
  )

/** The statuses of what is no request, which no operation declares. */
const transportStatuses = [400, 408, 431, 501, 505]

/** Without a body, and on a connection that closes. */
const isTransport = ({ status, headers, text }: HttpResponse) =>
  transportStatuses.includes(status) &&
  headers.connection === 'close' &&
  headers['content-type'] === undefined &&
  text === ''

/** Headers that need no declaration: HTTP's general ones, and those that restrict browsers. */
const generalHeaders = new Set([
  ...['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'],
  ...['access-control-expose-headers', 'content-security-policy', 'cross-origin-opener-policy'],
  ...[
    'cross-origin-resource-policy',
    'origin-agent-cluster',
    'referrer-policy',
    'strict-transport-security',
  ],
  ...['x-content-type-options', 'x-dns-prefetch-control', 'x-download-options', 'x-frame-options'],
  ...['x-permitted-cross-domain-policies', 'x-xss-protection'],
])

/**
 * The syntax of headers. The document describes it in words: with patterns, generated clients would
 * reject later values.
 */
const rateLimitSyntax = (parameters: string) =>
  new RegExp(`^"[a-z-]+"${parameters}(, "[a-z-]+"${parameters})*$`)
const headerSyntax: Record<string, RegExp> = {
  Allow: /^[A-Z]+(, [A-Z]+)*$/,
  ETag: /^"[A-Za-z0-9_-]{27}(-br|-gzip)?"$/,
  Link: /^<[^<>]+>; rel="first"(, <[^<>]+>; rel="(prev|next|last)"){0,3}$/,
  RateLimit: rateLimitSyntax(';r=\\d+;t=\\d+'),
  'RateLimit-Policy': rateLimitSyntax(';q=\\d+;w=\\d+'),
  'WWW-Authenticate':
    /^Bearer realm="apps"(, error="invalid_token", error_description="[^"\\]+")?$/,
  'X-Total-Count': /^\d+$/,
  'X-Request-Id': /^[A-Za-z0-9._-]{1,128}$/,
}

/** Times have milliseconds and are in UTC. */
const timestamp = /^\d{4}-(0\d|1[0-2])-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z$/

/**
 * Compares responses with the document: undeclared statuses, content types and headers, missing or
 * wrong headers, and bodies that do not match their schema. Unknown paths and methods must get the
 * documented errors.
 */
export class ResponseChecker {
  readonly #contract: Contract
  readonly #ajv: Ajv
  readonly #validators = new Map<string, ValidateFunction>()

  constructor(contract: Contract = document) {
    this.#contract = closed(contract)
    this.#ajv = addFormats
      .default(new Ajv({ strict: false, allErrors: true }))
      .addFormat('date-time', timestamp)
    this.#ajv.addSchema({ $id: 'contract', ...this.#contract })
  }

  /** Every (operation, status) that the document declares, as `operationId status`. */
  declared(): string[] {
    return Object.keys(this.#contract.paths)
      .flatMap((path) => this.#operationsOf(path))
      .flatMap(({ operationId, responses }) =>
        Object.keys(responses).map((status) => `${operationId} ${status}`),
      )
  }

  /** All problems of a response, and the declared (operation, status) pairs that it covers. */
  check(answer: HttpResponse): { problems: string[]; covers: string[] } {
    if (isTransport(answer)) return { problems: [], covers: [] }
    const path = this.#pathOf(answer.path)
    if (path === undefined) return { problems: this.#checkOutside(answer), covers: [] }
    const allow = this.#allowOf(path)
    if (answer.method === 'OPTIONS') return { problems: checkOptions(answer, allow), covers: [] }
    const operation = this.#operation(
      path,
      answer.method === 'HEAD' ? 'get' : answer.method.toLowerCase(),
    )
    // Every operation of a path declares the 405 for its missing methods.
    const concerned = operation ? [operation] : this.#operationsOf(path)
    const problems = concerned.flatMap((one) => this.#checkOperation(one, answer))
    if (!operation && answer.status !== 405)
      problems.push(`${answer.method} is no operation here: 405 expected, not ${answer.status}`)
    if (answer.status === 405 && answer.headers.allow !== allow)
      problems.push(`the header Allow must be ${allow}`)
    return {
      problems,
      covers: concerned.map(({ operationId }) => `${operationId} ${answer.status}`),
    }
  }

  #pathOf(path: string): string | undefined {
    return Object.keys(this.#contract.paths).find((template) =>
      new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
    )
  }

  #operationsOf(path: string): Operation[] {
    return methods.flatMap((method) => this.#operation(path, method) ?? [])
  }

  /** The methods that a path has, as the header `Allow` lists them. */
  #allowOf(path: string): string {
    const names = methods
      .filter((method) => this.#operation(path, method))
      .flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]))
    return [...names, 'OPTIONS'].join(', ')
  }

  #operation(path: string, method: string): Operation | undefined {
    const operation = this.#contract.paths[path]?.[method]
    return methods.includes(method) && operation ? (operation as Operation) : undefined
  }

  #checkOperation({ operationId, responses }: Operation, answer: HttpResponse): string[] {
    const declared = responses[answer.status]
    const where = `${operationId} ${answer.status}`
    if (!declared) return [`${where}: the document does not declare this status`]
    const response = this.#resolve<ResponseObject>(declared)
    return [...this.#checkHeaders(response, answer), ...this.#checkBody(response, answer)].map(
      (problem) => `${where}: ${problem}`,
    )
  }

  #checkHeaders({ headers = {} }: ResponseObject, answer: HttpResponse): string[] {
    const problems: string[] = []
    for (const [name, reference] of Object.entries(headers)) {
      const header = this.#resolve<Header>(reference)
      const text = answer.headers[name.toLowerCase()]
      if (text === undefined) {
        if (header.required) problems.push(`the header ${name} is missing`)
        continue
      }
      const value = this.#resolve<Schema>(header.schema).type === 'integer' ? Number(text) : text
      problems.push(
        ...this.#validate(header.schema, value).map((problem) => `the header ${name} ${problem}`),
      )
      if (headerSyntax[name] && !headerSyntax[name].test(String(value)))
        problems.push(`the header ${name} has another form`)
    }
    const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
    const foreign = Object.keys(answer.headers).filter(
      (name) => !own.has(name) && !generalHeaders.has(name),
    )
    return [...problems, ...foreign.map((name) => `the header ${name} is not declared here`)]
  }

  #checkBody({ content }: ResponseObject, answer: HttpResponse): string[] {
    const type = answer.headers['content-type']
    const mediaType = typeof type === 'string' ? type.split(';')[0]?.trim() : undefined
    if (!content) {
      return answer.text === '' && mediaType === undefined
        ? []
        : ['a body or content type, where none is declared']
    }
    const declared = mediaType === undefined ? undefined : content[mediaType]
    if (!declared) return [`the content type ${mediaType} is not declared`]
    if (answer.method === 'HEAD') return answer.text === '' ? [] : ['a body in answer to HEAD']
    const body = parse(answer.text)
    return body === undefined
      ? ['the body is not JSON']
      : this.#validate(declared.schema, body.value)
  }

  /** For a path that the document does not have. Errors use the envelope everywhere. */
  #checkOutside(answer: HttpResponse): string[] {
    const problems = ['X-Request-Id', 'Access-Control-Allow-Origin']
      .filter((name) => answer.headers[name.toLowerCase()] === undefined)
      .map((name) => `the header ${name} is missing`)
    if (answer.method === 'OPTIONS' && isUndescribedPath(answer.path))
      return [...problems, ...checkOptions(answer, 'GET, HEAD, OPTIONS')]
    if (!isUndescribedPath(answer.path) && answer.status < 400)
      problems.push(`${answer.status} for a path that does not exist`)
    if (answer.status >= 400 && answer.method !== 'HEAD') {
      const body = parse(answer.text)
      const anyOf = this.#schemasOf(answer.status)
      problems.push(
        ...(body === undefined ? ['the error is not JSON'] : this.#validate({ anyOf }, body.value)),
      )
    }
    return problems.map((problem) => `${answer.method} ${answer.path} ${answer.status}: ${problem}`)
  }

  /** The response that an operation declares for a status. */
  #schemasOf(status: number): Schema[] {
    const answers = Object.keys(this.#contract.paths)
      .flatMap((path) => this.#operationsOf(path))
      .flatMap(({ responses }) => responses[status] ?? [])
    return answers.flatMap(
      (answer) => this.#resolve<ResponseObject>(answer).content?.['application/json']?.schema ?? [],
    )
  }

  #validate(schema: Schema | { anyOf: Schema[] }, value: unknown): string[] {
    const key = JSON.stringify(schema)
    const located = JSON.parse(key.replaceAll('"#/', '"contract#/'))
    const validator = this.#validators.get(key) ?? this.#ajv.compile(located)
    this.#validators.set(key, validator)
    validator(value)
    return (validator.errors ?? []).map(({ instancePath, message }) =>
      `${instancePath} ${message}`.trim(),
    )
  }

  #resolve<T>(object: T | { $ref?: string }): T {
    const reference = (object as { $ref?: string }).$ref
    if (reference === undefined) return object as T
    let found: unknown = this.#contract
    for (const segment of reference.slice(2).split('/'))
      found = (found as Record<string, unknown>)[segment]
    return found as T
  }
}

/**
 * The document allows new fields in responses, so that adding one breaks no client. The tests do
 * not.
 */
const closed = (contract: Contract): Contract =>
  JSON.parse(JSON.stringify(contract), (_name, value) =>
    value?.type === 'object' && value.properties
      ? { additionalProperties: false, ...value }
      : value,
  )

/** RFC 9110, section 9.3.7: the allowed methods, and no body. */
function checkOptions({ status, headers, text, path }: HttpResponse, allow: string): string[] {
  const problems = []
  if (status !== 204) problems.push(`204 expected, not ${status}`)
  if (headers.allow !== allow) problems.push(`the header Allow must be ${allow}`)
  if (text !== '') problems.push('a body, where none is expected')
  return problems.map((problem) => `OPTIONS ${path}: ${problem}`)
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
