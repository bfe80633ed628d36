import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import document from '../../generated/openapi.json' with { type: 'json' }
import { isRefused, trimmedFields } from './characters.ts'
import type { Operation, Parameter, Schema } from './operations.ts'
import { ownerFields } from './owner-fields.ts'
import { type Body, contentOf, maxBodyBytes, type Request } from './raw-http-client.ts'

/** What the document says about a request, regardless of the server and of existing apps. */
export type Verdict = Allowed | Forbidden
export type Allowed = { operation: Operation; input: Input }
export type Input = {
  path: Record<string, unknown>
  query: Record<string, unknown>
  header: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: it was validated against its schema
  body?: any
  /** The body as sent, with white space around its texts. */
  sentBody?: unknown
}
/** `problems` are `in field`. A response may also name places inside them. */
export type Forbidden = { status: number; code: string; problems?: string[] }

/** The code points of a name that a problem shows. */
const mostShown = 200

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
  .addKeyword({
    keyword: 'x-characters',
    type: 'string',
    validate: (rule: string, text: string) => !isRefused(rule, text),
  })
  // Texts are compared without the white space around them, which is removed.
  .removeKeyword('uniqueItems')
  .addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    validate: (_: true, list: unknown[]) => new Set(list.map(trimmed)).size === list.length,
  })
const validators = new WeakMap<Schema, ValidateFunction>()

/** JSON pointers to the places of a value that violate a schema. */
function broken(schema: Schema, value: unknown): string[] {
  const validate = validators.get(schema) ?? ajv.compile(schema)
  validators.set(schema, validate)
  validate(value)
  return (validate.errors ?? []).map(pointer)
}

function pointer({ instancePath, params }: ErrorObject): string {
  const name: string | undefined = params.missingProperty ?? params.additionalProperty
  return name === undefined ? instancePath : `${instancePath}/${segment(name)}`
}

/** RFC 6901, section 3. */
export const segment = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** Removes the white space around a header's value (RFC 9110, section 5.5). */
export const readHeader = (text: string) => text.replace(/^[ \t]+|[ \t]+$/g, '')

export const allows = (schema: Schema, value: unknown) => broken(schema, value).length === 0

export const allowsText = ({ in: place, schema }: Pick<Parameter, 'in' | 'schema'>, text: string) =>
  valueFrom(schema, place === 'header' ? readHeader(text) : text) !== undefined

/** The value of a parameter's text; undefined if the document does not allow it. */
function valueFrom(schema: Schema, text: string): string | number | undefined {
  if (schema.type !== 'string' && schema.type !== 'integer')
    throw new Error(`parameters of type ${schema.type} are not supported here`)
  if (schema.type === 'integer' && !/^(0|-?[1-9]\d*)$/.test(text)) return undefined
  const value = schema.type === 'integer' ? Number(text) : text
  return broken(schema, value).length === 0 ? value : undefined
}

/** The first violation, in the document's order of checks, or the parsed request. */
export function judge(operations: Operation[], request: Request): Verdict {
  const [path = '', ...search] = request.target.split('?')
  const operationsOfPath = operations.flatMap((operation) => {
    const texts = match(operation.path, path)
    return texts ? [{ operation, texts }] : []
  })
  if (operationsOfPath.length === 0) return { status: 404, code: 'not_found' }
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const found = operationsOfPath.find(({ operation }) => operation.method === method)
  if (!found) return { status: 405, code: 'method_not_allowed' }
  const { operation, texts } = found
  return faultOf(operation, request) ?? readAll(operation, texts, search.join('?'), request)
}

function match(template: string, path: string): Record<string, string> | undefined {
  const pattern = template.replaceAll(/\{([^}]+)\}/g, '(?<$1>[^/]+)')
  const found = new RegExp(`^${pattern}$`).exec(path)
  return found ? { ...found.groups } : undefined
}

function faultOf(operation: Operation, request: Request): Forbidden | undefined {
  const { caller, body } = request
  if (excludesJson(headerOf(request, 'Accept'))) return { status: 406, code: 'not_acceptable' }
  const isAccepted = caller === 'ada' || caller === 'bob'
  const brings = caller !== undefined || headerOf(request, 'Authorization') !== undefined
  if (brings ? !isAccepted : operation.needsKey) return { status: 401, code: 'unauthorized' }
  const content = contentOf(request)
  if (!operation.body || !body || !content) return undefined
  const isJson = /^application\/json *(; *charset="?utf-?8"?)?$/i.test(
    headerOf(request, 'Content-Type') ?? '',
  )
  const isEncoded = headerOf(request, 'Content-Encoding') !== undefined
  if (!isJson || isEncoded) return { status: 415, code: 'unsupported_media_type' }
  if (content.length > maxBodyBytes) return { status: 413, code: 'payload_too_large' }
  // Checked before the fields.
  if (partsOf(content.toString()) > mostParts)
    return { status: 400, code: 'invalid_request', problems: ['body '] }
  if (content.length === 0 || !isMalformed(body)) return undefined
  return { status: 400, code: 'malformed_json', problems: repeated(body) }
}

/** The maximum number of names, values and punctuation marks in a JSON body. */
const mostParts = 1000

const partsOf = (json: string) => json.match(/"(?:\\.|[^"\\])*"?|[{}[\]:,]/gs)?.length ?? 0

/** Repeated headers form one list (RFC 9110, section 5.3). */
function headerOf({ headers }: Request, name: string): string | undefined {
  const values = headers
    .filter(([own]) => own.toLowerCase() === name.toLowerCase())
    .map(([, value]) => value)
  return values.length === 0 ? undefined : values.map(readHeader).join(', ')
}

/** The most specific range that matches JSON applies (RFC 9110, section 12.5.1). */
function excludesJson(accept: string | undefined): boolean {
  if (accept === undefined || /^[ \t,]*$/.test(accept)) return false
  const ranges = new Map(
    accept.split(',').map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
      return [type, Number(parameters.find((part) => part.startsWith('q='))?.slice(2) ?? 1)]
    }),
  )
  const weight =
    ranges.get('application/json') ?? ranges.get('application/*') ?? ranges.get('*/*') ?? 0
  return weight === 0
}

function isMalformed(body: Body): boolean {
  if ('fields' in body) return repeated(body).length > 0
  if ('value' in body) return false
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body.bytes))
    return false
  } catch {
    return true
  }
}

function readAll(
  operation: Operation,
  texts: Record<string, string>,
  search: string,
  request: Request,
): Verdict {
  const problems: string[] = []
  const input: Input = { path: {}, query: {}, header: {} }
  // URLSearchParams drops a question mark at the start, which belongs to the first name. It ignores
  // the empty entry.
  const query = [...new URLSearchParams(`&${search}`)]
  const declared = new Set(
    operation.parameters.filter((one) => one.in === 'query').map(({ name }) => name),
  )
  for (const [name] of query) if (!declared.has(name)) problems.push(`query ${shown(name)}`)

  for (const { name, in: place, schema, required } of operation.parameters) {
    const values = {
      path: [decoded(texts[name] ?? '')],
      query: query.filter(([own]) => own === name).map(([, text]) => text),
      header: [headerOf(request, name) ?? []].flat(),
    }[place]
    const [text] = values
    if (text === undefined) {
      if (required) problems.push(`${place} ${name}`)
      else if (schema.default !== undefined) Object.assign(input[place], { [name]: schema.default })
      continue
    }
    const value = values.length === 1 ? valueFrom(schema, text) : undefined
    if (value === undefined) problems.push(`${place} ${name}`)
    else Object.assign(input[place], { [name]: value })
  }

  if (operation.body) {
    const body = valueIn(request)
    const places = body === undefined ? [''] : broken(operation.body, body)
    problems.push(...places.map(bodyProblem))
    input.body = stored(body)
    input.sentBody = body
  }
  if (problems.length === 0) return { operation, input }
  return { status: 400, code: 'invalid_request', problems: outermost(problems) }
}

const { App, OwnApp } = document.components.schemas
const fieldsOfResponses = Object.keys({ ...App.properties, ...OwnApp.properties })

/** Fields that only responses have are a problem of the whole body. */
export const bodyProblem = (place: string) => {
  const name = place.slice(1)
  const isReadOnly = fieldsOfResponses.includes(name) && !ownerFields.includes(name)
  return `body ${isReadOnly ? '' : shown(place)}`
}

/** Percent signs that encode no valid text are literal. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The JSON value of a body. */
function valueIn(request: Request): unknown {
  const content = contentOf(request)
  return content?.length ? JSON.parse(content.toString()) : undefined
}

function stored(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, storedValue(name, value)]),
  )
}

/** A field's value without the white space that the document says is removed. */
export const storedValue = (name: string, value: unknown) =>
  trimmedFields.includes(name)
    ? Array.isArray(value)
      ? value.map(trimmed)
      : trimmed(value)
    : value

const trimmed = (value: unknown) => (typeof value === 'string' ? value.trim() : value)

/** Drops places inside another wrong place, which need not be named. */
const outermost = (problems: string[]) =>
  [...new Set(problems)].filter((problem) => !problems.some((other) => isWithin(problem, other)))

const isWithin = (problem: string, other: string) =>
  problem.startsWith('body /') && other !== 'body ' && problem.startsWith(`${other}/`)

/** The first repeated field. */
function repeated(body: Body): string[] {
  const names = 'fields' in body ? body.fields.map(([name]) => name) : []
  const again = names.find((name, index) => names.indexOf(name) < index)
  return again === undefined ? [] : [`body ${shown(`/${segment(again)}`)}`]
}

/** The part of a name that a problem shows. */
export const shown = (name: string) => [...name.toWellFormed()].slice(0, mostShown).join('')

/** Problems that a response should have named, or should not have. */
export function misnamed({ problems = [] }: Forbidden, named: string[]): string[] {
  const missing = named.length < 100 ? problems.filter((problem) => !named.includes(problem)) : []
  const groundless = named.filter(
    (name) => !problems.some((one) => name === one || isWithin(name, one)),
  )
  return [
    ...missing.map((name) => `does not name ${name}`),
    ...groundless.map((name) => `names ${name}`),
  ]
}
