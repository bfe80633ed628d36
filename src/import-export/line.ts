import { Ajv, type ErrorObject, type SchemaValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import document from '../../generated/openapi.json' with { type: 'json' }
import type { Actor } from '../audit/audit-store.ts'
import { defaultVersion, type ImportedColumn, queueColumns } from '../catalogue/app-columns.ts'
import { addCharacterRules } from '../contract/character-rules.ts'
import type { Problem } from '../contract/contract.ts'
import {
  appSlugRule,
  categoryNameRule,
  categorySlugRule,
  developerNameRule,
  reasonRule,
  reviewerNameRule,
} from '../contract/field-rules.ts'
import { describeSyntaxError, findRepeatedField } from '../contract/json-text.ts'
import { objectProblems } from '../contract/problems.ts'
import type { AppRow, CategoryRow, ReviewRow } from '../db/rows.ts'
import { idLimit, type SearchDocument } from '../search/terms.ts'
import { pick, required } from '../util/helpers.ts'
import { lengthOf, shorten, toSingleLine } from '../util/text.ts'
import type { LineProblem } from './reason-counts.ts'

/** A line of a catalogue file: an app. An omitted field keeps its value; null removes it. */
export type Line = Pick<AppRow, 'name' | 'description'> &
  Partial<Pick<AppRow, Exclude<ImportedColumn, 'keywords'>>> & {
    keywords?: string[] | null
    category: string | LineCategory
    developer_name: string
    average_rating?: number | null
    rating_count?: number | null
    reviews?: LineReview[]
  }
export type LineCategory = Pick<CategoryRow, 'slug' | 'name'> &
  Partial<Pick<CategoryRow, 'id' | 'created_at'>>
export type LineReview = Omit<ReviewRow, 'id' | 'app_id'> & { id?: number }

/**
 * An app that is no longer public. Its id and creation time identify it, because its texts may not
 * be published again.
 */
export type RemovedApp = Pick<AppRow, 'id' | 'created_at'>

/** A line during the import. */
export type ImportLine = ParsedLine & {
  number: number
  /** As it was read; bytes if it is not UTF-8, and only its first ones if it is too long. */
  raw: string | Buffer
  /** Times that contradict those of the app, and are left out. */
  contradictions?: LineProblem[]
  /** The app that the line is about, also if it is refused for another reason. */
  described?: DescribedApp | undefined
}

/** `now` is the time of the import; `onlyNew` leaves existing apps and categories unchanged. */
export type WriteOptions = {
  actor: Actor
  onlyNew: boolean
  now: string
  firstLines: FirstLines
  /** The file is a whole export: what it says of an app is so, whatever this catalogue says. */
  isMirror?: boolean
}

export type DescribedApp = Pick<AppRow, 'id' | 'slug'>

/** The number of the first line of the file about each app, by its id. */
export type FirstLines = ReadonlyMap<number, number>

/**
 * Either one of `app`, `category`, `removed` and `counters`, or the reasons why the line is refused
 * as its `outcome`.
 */
export type ParsedLine = {
  app?: Line
  /** A category, so that an export also has renamed categories and those without apps. */
  category?: LineCategory
  removed?: RemovedApp
  counters?: CounterLine
  /** Prepared while the previous lines are written, for an app that will be listed. */
  document?: SearchDocument
  /** Problems with values that the line is read without. */
  leftOut?: LineProblem[]
  outcome?: 'created' | 'updated' | 'unchanged' | LineProblem[] | undefined
}

const { Review, ...schemas } = document.components.schemas

/**
 * An id that a file can set. New rows get ids after the greatest, so a file may use only the first
 * half of the range: the second half is more than any catalogue uses up.
 */
function settableId<Schema extends { maximum: number }>(schema: Schema) {
  const maximum = Math.floor(schema.maximum / 2)
  const message = `must be at most ${maximum}, which leaves enough ids for new ones; leave it out to get a free one`
  return { ...schema, maximum, 'x-maximum-message': message }
}

const timeMessage = 'must be a time such as 2026-03-04T09:12:45Z or 2026-03-04T10:12:45+01:00'
const Timestamp = {
  ...schemas.Timestamp,
  maxLength: 40,
  'x-type-message': timeMessage,
  'x-maxLength-message': timeMessage,
  'x-format-message': timeMessage,
  'x-utc': true,
}

const ignored = { description: 'Ignored. Exports of version 1 have it.' }
const oldFields = { unreviewed_since: ignored, unreviewed_changes: ignored }

const ratingRule = when(
  {
    required: ['average_rating'],
    properties: { average_rating: { type: 'number', exclusiveMinimum: 0 } },
  },
  { properties: { average_rating: { minimum: 1 }, rating_count: { minimum: 1 } } },
  {
    properties: {
      rating_count: { maximum: 0, 'x-maximum-message': 'requires an average_rating from 1 to 5' },
    },
  },
)

/**
 * JSON Schema (draft 7) of a line, made of the schemas of the API document. Times may have any zone
 * and precision; they are stored in UTC, to the millisecond.
 */
export const lineSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'A line of a catalogue file',
  description:
    'Newline-delimited JSON in UTF-8. A line is an app; or a category if it has only the field category, as an object; or an app to hide, if it has the field removed. In an existing app, an omitted field keeps its value; null removes it. An invalid value of a field that an app can do without is left out: of addresses, license, short_description, version, times, total_downloads, average_rating and rating_count, of a review; but not of deleted_at, and of created_at only in a line without id or slug.',
  type: 'object',
  additionalProperties: false,
  dependencies: { removed: { maxProperties: 1 } },
  if: {
    maxProperties: 1,
    anyOf: [
      { required: ['category'], properties: { category: { type: 'object' } } },
      { required: ['removed'] },
    ],
  },
  else: { required: ['name', 'description', 'category', 'developer_name'] },
  allOf: [
    when(
      { required: ['status'], properties: { status: { const: 'rejected' } } },
      { required: ['rejection_reason'], properties: { rejection_reason: { type: 'string' } } },
      { properties: { rejection_reason: { type: 'null' } } },
    ),
    ratingRule,
  ],
  properties: {
    removed: {
      description:
        'An app that is no longer public at the source: it is hidden, and gives up its package name.',
      type: 'object',
      additionalProperties: false,
      required: ['id', 'created_at'],
      properties: { id: schemas.AppId, created_at: Timestamp },
    },
    id: {
      ...settableId({ ...schemas.AppId, maximum: idLimit - 1 }),
      description:
        'Used if no app of the database has it; otherwise the app gets a new one. Two new apps of a file must not have the same.',
    },
    name: schemas.NewAppName,
    short_description: nullableText(schemas.NewShortDescription),
    description: schemas.NewAppDescription,
    version: { ...schemas.NewAppVersion, default: defaultVersion },
    package_name: {
      ...nullableText(schemas.NewPackageName),
      description: [
        'An existing app is recognized in one of these ways, tried in this order.',
        '1. Its id, slug and created_at together, also if another developer owns it.',
        '2. Its package_name.',
        '3. Its slug, if the developer is the same; but not if the app has a package_name that the',
        'line lacks, and another created_at.',
        '4. Its developer_name and exact name, if the line has neither package_name nor slug, and',
        'the app has no package name.',
      ].join(' '),
    },
    website_url: nullableText(schemas.NewWebAddress),
    source_code_url: nullableText(schemas.NewWebAddress),
    icon_url: nullableText(schemas.NewIconUrl),
    license: nullableText(schemas.NewLicense),
    keywords: { ...nullable(schemas.NewKeywords), 'x-type-message': 'must be an array or null' },
    slug: {
      ...appSlugRule,
      description:
        "Made from the name if it is left out. Another developer's app must not have it.",
    },
    category: {
      description:
        'Slug of a category. An object with slug and name adds the category if it does not exist.',
      type: ['string', 'object'],
      ...pick(categorySlugRule, 'minLength', 'maxLength', 'pattern', 'x-pattern-message'),
      additionalProperties: false,
      required: ['slug', 'name'],
      properties: {
        id: settableId(schemas.CategoryId),
        slug: categorySlugRule,
        name: categoryNameRule,
        created_at: {
          ...Timestamp,
          description:
            'In a line that is a category, this and the id identify it if its slug or name has changed.',
        },
      },
    },
    developer_name: {
      ...developerNameRule,
      description: 'Owner of the app; added if it does not exist.',
    },
    status: { ...schemas.AppStatus, default: 'pending' },
    rejection_reason: {
      ...nullable(reasonRule),
      description: 'Required with the status `rejected`, and not allowed with any other.',
    },
    total_downloads: { ...schemas.Downloads, default: 0 },
    average_rating: {
      ...nullable(schemas.AverageRating),
      description: 'Mean of the ratings that are not in reviews: 1 to 5, or 0 if there are none.',
    },
    rating_count: {
      ...nullable(schemas.App.properties.rating_count),
      // The sum of so many ratings, in hundredths, is still a safe integer.
      maximum: 1_000_000_000_000,
      description: 'Number of ratings without a review; 1 if it is left out.',
    },
    created_at: {
      ...Timestamp,
      description:
        'When the app was created. If it is left out in a new app: the first of its other times, or the time of the import.',
    },
    updated_at: { ...Timestamp, description: 'When the app last changed.' },
    approved_at: {
      ...nullable(Timestamp),
      description: 'First approval; the creation time if it is left out and the app is approved.',
    },
    deleted_at: {
      ...nullable(Timestamp),
      description:
        'When the app was deleted; it keeps its id and slug, and its package name until its developer uses it again. null restores a deleted app if the updated_at of the line is later than the deletion.',
    },
    reviews: {
      description: 'All reviews of the app. They replace the existing ones.',
      type: 'array',
      items: {
        ...Review,
        required: Review.required.filter((name) => name !== 'id'),
        properties: {
          ...Review.properties,
          reviewer_name: reviewerNameRule,
          comment: { ...Review.properties.comment, 'x-characters': 'text' },
          id: {
            ...settableId(Review.properties.id),
            description: 'Used if no review of the database has it.',
          },
          created_at: Timestamp,
        },
      },
    },
    ...oldFields,
  } satisfies Record<keyof Line | 'removed' | keyof typeof oldFields, object>,
}

/** Reviews are validated one by one. */
const withoutReviews = {
  ...lineSchema,
  properties: { ...lineSchema.properties, reviews: { type: 'array' } },
}

/** The fields of a line that is an app, in the order in which exports have them. */
export const lineFields = Object.keys(lineSchema.properties).filter(
  (field): field is keyof Line => field !== 'removed' && !(field in oldFields),
)

/**
 * An invalid value of these fields refuses a line: of what finds an app, what it cannot be without,
 * and what decides who sees it. An invalid value of any other field is left out.
 */
const refusingFields: string[] = [
  ...lineSchema.else.required,
  'id',
  'slug',
  'package_name',
  'status',
  'rejection_reason',
  'deleted_at',
]

const optionalFields = new Set<string>(lineFields.filter((name) => !refusingFields.includes(name)))

/** Fields that null does not clear. There, it is as if they were left out. */
const unclearedFields = Object.entries(lineSchema.properties)
  .filter(([, schema]) => 'type' in schema && !schema.type.includes('null'))
  .map(([field]) => field)

/** Marks the problems with values that the line can do without. */
export function markLeftOut(problems: LineProblem[], line: object): LineProblem[] {
  // A line with these finds its app by all three.
  const identifying = 'id' in line && 'slug' in line ? 'created_at' : undefined
  return problems.map((one) => {
    const field = fieldOf(one)
    return optionalFields.has(field) && field !== identifying ? { ...one, left_out: true } : one
  })
}

const fieldOf = ({ field }: Problem) => field.split('/')[1] ?? ''

export const isRefusing = ({ left_out }: LineProblem): boolean => !left_out

/**
 * A line of a file of counters: the app that has the slug or package name gets the downloads and
 * ratings.
 */
type CounterLine = Pick<Line, 'slug' | 'total_downloads' | 'average_rating' | 'rating_count'> & {
  package_name?: string
}

const counterSchema = {
  type: 'object',
  additionalProperties: false,
  anyOf: [{ required: ['slug'] }, { required: ['package_name'] }],
  allOf: [ratingRule],
  // Without the other, an average would count as one rating.
  dependencies: { average_rating: ['rating_count'], rating_count: ['average_rating'] },
  properties: {
    package_name: schemas.NewPackageName,
    ...pick(lineSchema.properties, 'slug', 'total_downloads', 'average_rating', 'rating_count'),
  } satisfies Record<keyof CounterLine, object>,
}

/**
 * Parses a line, trims its texts and converts its times to UTC. The outcome of an invalid line has
 * all its problems; `number` is that of the line in its file.
 */
export function readLine(text: string, number = 1): ParsedLine {
  const { value: line, problems } = readValid<Line | ParsedLine>(text, number, 'line')
  if (!line) return { outcome: problems }
  if (!('name' in line)) return line
  // An empty one means none, and must not identify an app.
  const app = line.package_name === '' ? { ...line, package_name: null } : line
  return { app, leftOut: problems }
}

export function readCounterLine(text: string, number: number): ParsedLine {
  const { value: counters, problems } = readValid<CounterLine>(text, number, 'counters')
  return counters ? { counters } : { outcome: problems }
}

/**
 * The id and slug that a line gives its app, whatever else is wrong with it. If it has no name, they
 * can be those of its category or removal, unless `isApp`.
 */
export function identify(raw: string | Buffer, isApp = false): { id?: number; slug?: string } {
  try {
    const line = Object(JSON.parse(raw.toString()))
    const { id, slug } =
      isApp || 'name' in line ? line : Object(line.removed ?? line.category ?? line)
    return {
      ...(typeof id === 'number' && { id }),
      ...(typeof slug === 'string' && slug.length <= appSlugRule.maxLength && { slug }),
    }
  } catch {
    return {}
  }
}

/** Milliseconds by which the clocks of two machines may differ. */
const maxClockSkew = 5 * 60_000

/**
 * Times that are not before the creation of an app. Those of its reviews may be: a store may know
 * only its last release.
 */
const laterTimes = ['updated_at', 'approved_at', 'deleted_at'] as const
const timeFields = ['created_at', ...laterTimes] as const

/**
 * The times of a line that are before the creation of the app. `stored` has times of the app that the
 * line updates.
 */
export function orderProblems(
  line: Record<string, unknown>,
  stored: Record<string, unknown> = {},
): Problem[] {
  const given = timesOf(line)
  const { created_at: creation, ...later } = { ...timesOf(stored), ...given }
  if (creation === undefined) return []
  const early = laterTimes.filter(
    (field) =>
      ('created_at' in given || field in given) &&
      creation - (later[field] ?? creation) > maxClockSkew,
  )
  const others = early.filter((field) => 'created_at' in given && field !== 'updated_at')
  return others.length > 0
    ? others.map((field) => problem('/created_at', `must not be after ${field}`))
    : early.map((field) => problem(`/${field}`, 'must not be before the creation of the app'))
}

/** The times of an object that are set, in milliseconds. */
const timesOf = (value: Record<string, unknown>): Partial<Record<string, number>> =>
  Object.fromEntries(
    timeFields.flatMap((field) => {
      const time = value[field]
      return typeof time === 'string' ? [[field, Date.parse(time)]] : []
    }),
  )

/**
 * Returns the problems of a line: those with the schema, and times that contradict each other. Also
 * its value, without what is left out, unless a problem refuses it.
 */
function readValid<T>(
  text: string,
  number: number,
  schema: 'line' | 'counters',
): { value?: T; problems: LineProblem[] } {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    const message = describeSyntaxError(text, number)
    return { problems: [problem('', message, 'is not valid JSON')] }
  }
  if (isNestedTooDeeply(parsed)) return { problems: [problem('', 'is nested too deeply')] }
  // A compact line without repeated fields is the same when it is written again, which is quick to
  // see.
  const repeated = JSON.stringify(parsed) === text ? undefined : findRepeatedField(text)
  if (repeated) return { problems: [repeated.problem] }
  const line = trimTexts(removeExcessFields(parsed))
  if (schema === 'line' && isObject(line))
    for (const field of unclearedFields) if (line[field] === null) delete line[field]
  const isValid = ajv.validate<T>(schema, line)
  const errors = ajv.errors ?? []
  if (schema === 'line') removeInvalidReviews(errors, line)
  // Parsed again, because the validation has converted times.
  const given = errors.length === 0 ? undefined : JSON.parse(text)
  const invalid = objectProblems(errors).map((one) => quoteValue(one, given))
  const rest = isObject(line) ? withoutFields(line, invalid) : {}
  const contradictions = orderProblems(rest)
  const found = [...invalid, ...contradictions]
  if (isValid && found.length === 0) return { value: line, problems: [] }
  const problems = schema === 'line' && isObject(line) ? markLeftOut(found, line) : found
  const value = withoutFields(rest, contradictions)
  if (contradictions.some((one) => fieldOf(one) === 'updated_at'))
    value.updated_at = rest.created_at
  const isAccepted = !problems.some(isRefusing) && ajv.validate<T>(schema, value)
  const shown = problems.toSorted((a, b) => Number(!isRefusing(a)) - Number(!isRefusing(b)))
  return { ...(isAccepted && { value }), problems: shown.slice(0, maxProblems) }
}

/** Problems of a line that are reported. */
const maxProblems = 100

/** So many fields are the known ones and at least 100 others, which are reported first. */
const maxFields = 200

/** Bounds, in place, the unknown fields of which ajv would collect an error each. */
function removeExcessFields(line: unknown): unknown {
  for (const object of isObject(line) ? [line, line.category, line.removed] : [])
    if (isObject(object))
      for (const name of Object.keys(object).slice(maxFields)) delete object[name]
  return line
}

/**
 * Removes invalid reviews, in place, and adds their errors until there are enough. ajv would collect
 * those of all.
 */
function removeInvalidReviews(errors: ErrorObject[], line: unknown) {
  if (!isObject(line) || !Array.isArray(line.reviews)) return
  line.reviews = line.reviews.filter((review, index) => {
    if (ajv.validate('review', review)) return true
    for (const error of errors.length < maxProblems ? (ajv.errors ?? []) : [])
      errors.push({ ...error, instancePath: `/reviews/${index}${error.instancePath}` })
    return false
  })
}

/**
 * More levels than any valid line has, and few enough not to overflow the stack of JSON.stringify.
 */
const maxDepth = 100

const isNestedTooDeeply = (value: unknown, depth = 0): boolean =>
  isObject(value) &&
  (depth > maxDepth || Object.values(value).some((part) => isNestedTooDeeply(part, depth + 1)))

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Fields whose values other stores write in other forms. */
const quotedFields = new Set<string>([...timeFields, ...queueColumns])

const maxQuotedLength = 60

/** Adds the value of such a field to its problem, shortened, and safe for a terminal. */
function quoteValue({ field, message }: Problem, line: unknown): LineProblem {
  const path = field.split('/').slice(1)
  const value = path.reduce((part, name) => (isObject(part) ? part[name] : undefined), line)
  if (!quotedFields.has(path.at(-1) ?? '') || value === undefined || isObject(value))
    return problem(field, message)
  const shown =
    typeof value === 'string'
      ? shorten(toSingleLine(value.slice(0, 10 * maxQuotedLength)), maxQuotedLength, lengthOf)
      : value
  return problem(field, `${message}; got ${JSON.stringify(shown)}`, message)
}

/** A review has a problem by itself; the average and the number of ratings have it together. */
export function withoutFields<T extends object>(line: T, problems: Problem[]): T {
  if (problems.length === 0) return line
  const fields = new Set<string>(
    problems.filter(({ field }) => !field.startsWith('/reviews/')).map(fieldOf),
  )
  if (fields.has('average_rating')) fields.add('rating_count')
  if (fields.has('rating_count')) fields.add('average_rating')
  return Object.fromEntries(Object.entries(line).filter(([name]) => !fields.has(name))) as T
}

/**
 * Converts a time, in place, to the form in which it is stored. A future time would lead lists
 * until then.
 */
const convertToUtc: SchemaValidateFunction = (_schema, text: string, _parentSchema, context) => {
  const time = new Date(text)
  const stored = Number.isNaN(time.getTime()) ? '' : time.toISOString()
  const { parentData, parentDataProperty } = required(context, 'the place of a time')
  parentData[parentDataProperty] = stored
  // Years with more than four digits have a sign, so they do not sort as text.
  const exists = /^\d{4}-/.test(stored)
  if (exists && time.getTime() <= Date.now() + maxClockSkew) return true
  const message = exists
    ? 'must not be in the future'
    : 'must be a time that exists, in the years 0000 to 9999'
  convertToUtc.errors = [{ keyword: 'x-utc', message, params: {} }]
  return false
}

/**
 * Compiles a schema when the first line is validated, because that takes longer than most commands.
 */
const ajv = addCharacterRules(
  addFormats.default(
    new Ajv({ allErrors: true, verbose: true, strict: false, validateSchema: false }),
  ),
)
  .addKeyword({ keyword: 'x-utc', type: 'string', modifying: true, validate: convertToUtc })
  .addSchema(withoutReviews, 'line')
  .addSchema(lineSchema.properties.reviews.items, 'review')
  .addSchema(counterSchema, 'counters')

export const isSet = <T>(value: T): value is NonNullable<T> => value !== undefined && value !== null

/** `reason` is for messages that quote values; see `LineProblem`. */
export const problem = (field: string, message: string, reason?: string): LineProblem => ({
  in: 'body',
  field,
  message,
  ...(reason !== undefined && { reason }),
})

/**
 * Fields with names, which may not have directional marks. Around a name they are a remnant of the
 * text it was copied from.
 */
const nameFields = new Set(['name', 'version', 'developer_name', 'reviewer_name'])

/** Trims all texts of a value, in place. */
function trimTexts(value: unknown, field?: string): unknown {
  if (typeof value === 'string') return nameFields.has(field ?? '') ? trimName(value) : value.trim()
  if (isObject(value))
    for (const [name, part] of Object.entries(value)) value[name] = trimTexts(part, name)
  return value
}

/** White space and directional marks, in any order. */
const isTrimmed = (character: string | undefined) =>
  character !== undefined && /[\s\u200E\u200F\u061C]/.test(character)

/** A loop, because a pattern for the end of a text takes quadratic time. */
function trimName(text: string): string {
  let begin = 0
  let end = text.length
  while (isTrimmed(text[begin])) begin++
  while (end > begin && isTrimmed(text[end - 1])) end--
  return text.slice(begin, end)
}

/** Function declarations, because the constants above call them. */
function nullable<Schema extends { type: string }>(schema: Schema) {
  return { ...schema, type: [schema.type, 'null'] }
}

/** The document's message says how to remove a text without null. */
function nullableText<Schema extends { type: string }>(schema: Schema) {
  return { ...nullable(schema), 'x-type-message': 'must be a string or null' }
}

function when(condition: object, then: object, otherwise: object) {
  return { if: condition, then, else: otherwise }
}
