import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import document from '../../generated/openapi.json' with { type: 'json' }
import type { AppChanges, Problem } from '../contract/contract.ts'
import {
  appSlugRule,
  categoryNameRule,
  categorySlugRule,
  developerNameRule,
  reasonRule,
  reviewerNameRule,
} from '../contract/field-rules.ts'
import { addCharacterRules, duplicateField, objectProblems } from '../contract/validation.ts'
import type { AppStatus } from '../db/tables.ts'
import type { SearchDocument } from '../search/document.ts'
import { isNestedTooDeeply, unwrapReject } from './rejects.ts'

/** A line of a catalogue file: an app. A field that is left out stays as it is; null removes it. */
export type Line = {
  id?: number
  name: string
  short_description?: string | null
  description: string
  version?: string
  package_name?: string | null
  slug?: string
  category: string | LineCategory
  developer_name: string
  status?: AppStatus
  rejection_reason?: string | null
  total_downloads?: number
  average_rating?: number | null
  rating_count?: number | null
  created_at?: string
  updated_at?: string
  approved_at?: string | null
  deleted_at?: string | null
  unreviewed_since?: string | null
  unreviewed_changes?: LineChanges | null
  reviews?: LineReview[]
}
/** Earlier values of fields. A category is given by its slug. */
type LineChanges = { [Field in Exclude<keyof AppChanges, 'category_id'> | 'category']?: string | null }
export type LineCategory = { id?: number; slug: string; name: string; created_at?: string }

/** A category as a line. Without it an export would have no categories without apps, and no renamed ones. */
export type CategoryLine = { category: LineCategory }
export const isCategoryLine = (line: Line | CategoryLine): line is CategoryLine => !('name' in line)

export type LineReview = { id?: number; reviewer_name: string; rating: number; comment: string; created_at: string }

/** A line on its way into the database. */
export type ImportLine = {
  number: number
  /** As it was read; undefined if it is not text. */
  bytes?: Buffer
  /** One of the two, unless the line is not valid. */
  app?: Line
  category?: LineCategory
  /** Prepared while the previous lines are written, for an app that will be listed. */
  document?: SearchDocument | undefined
  outcome?: 'created' | 'created with another slug' | 'updated' | 'unchanged' | Problem[]
  /** Refused while another app has its package name. A later line may give that app a new one. */
  isRetryable?: boolean
}

/** The API's default for a new app without a version. */
export const defaultVersion = document.components.schemas.NewApp.properties.version.default

const { Review, ...schemas } = document.components.schemas
const Timestamp = {
  ...schemas.Timestamp,
  maxLength: 40,
  'x-format-message': 'must be a time such as 2026-03-04T09:12:45Z or 2026-03-04T10:12:45+01:00',
}

/** Reviews come from elsewhere, and earlier values may be older than the rules for new ones. */
const storedText = { 'x-characters': 'text' }

/**
 * JSON Schema (draft 7) of a line, made of the schemas of the API document. Times may have any zone and precision; they are
 * stored in UTC, to the millisecond.
 */
export const lineSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'A line of a catalogue file',
  description:
    'Newline-delimited JSON in UTF-8. A line is an app, or a category if it has only the field category, as an object. In an existing app a field that the line leaves out stays as it is; null removes it.',
  type: 'object',
  additionalProperties: false,
  if: { maxProperties: 1, required: ['category'], properties: { category: { type: 'object' } } },
  else: { required: ['name', 'description', 'category', 'developer_name'] },
  properties: {
    id: { ...schemas.AppId, description: 'Used if no app of the database has it; otherwise the app gets a new one.' },
    name: schemas.NewAppName,
    short_description: nullable(schemas.NewShortDescription),
    description: schemas.NewAppDescription,
    version: { ...schemas.NewAppVersion, default: defaultVersion },
    package_name: {
      ...nullable(schemas.NewPackageName),
      description:
        'An existing app is recognized by its id, slug and created_at together, whoever owns it; or else by its package_name; or else by its slug, if the developer is the same; or else, without package_name and slug, by its developer_name and exact name, if it has no package name.',
    },
    slug: {
      ...appSlugRule,
      description: "Made from the name if it is left out. If another developer's app has it, the app gets another one.",
    },
    category: {
      description: 'Slug of a category. An object with slug and name adds the category if it does not exist.',
      type: ['string', 'object'],
      ...pick(categorySlugRule, 'minLength', 'maxLength', 'pattern', 'x-pattern-message'),
      additionalProperties: false,
      required: ['slug', 'name'],
      properties: {
        id: schemas.CategoryId,
        slug: categorySlugRule,
        name: categoryNameRule,
        created_at: {
          ...Timestamp,
          description: 'In a line that is a category, this and the id identify it if its slug or name has changed.',
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
      description:
        'Mean of the ratings without a review: 1 to 5, or 0 if there are none. The ratings of the reviews are added to these.',
    },
    rating_count: {
      ...nullable(schemas.RatingCount),
      // The sum of so many ratings, in hundredths, is still a safe integer.
      maximum: 1_000_000_000_000,
      description: 'Number of ratings without a review; 1 if it is left out.',
    },
    created_at: { ...Timestamp, description: 'When the app was created; the time of the import if it is left out.' },
    updated_at: { ...Timestamp, description: 'When the app last changed.' },
    approved_at: {
      ...nullable(Timestamp),
      description: 'First approval; the creation time if it is left out and the app is approved.',
    },
    deleted_at: {
      ...nullable(Timestamp),
      description:
        'When the app was deleted; it keeps its id, slug and package name. null restores a deleted app if the updated_at of the line is later than the deletion.',
    },
    unreviewed_since: {
      ...nullable(Timestamp),
      description:
        'When the owner first changed the app after an operator’s last decision; null if no change waits for review.',
    },
    unreviewed_changes: {
      description: 'With unreviewed_since: the earlier values of the changed fields; a category by its slug.',
      type: ['object', 'null'],
      additionalProperties: false,
      properties: {
        name: { ...schemas.AppName, ...storedText },
        short_description: nullable({ ...schemas.ShortDescription, ...storedText }),
        description: { ...schemas.AppDescription, ...storedText },
        version: { ...schemas.AppVersion, ...storedText },
        package_name: nullable(schemas.NewPackageName),
        category: categorySlugRule,
      } satisfies Record<keyof LineChanges, object>,
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
          comment: { ...Review.properties.comment, ...storedText },
          id: { ...Review.properties.id, description: 'Used if no review of the database has it.' },
          created_at: Timestamp,
        },
      },
    },
  } satisfies Record<keyof Line, object>,
}

/** Compiled for the first line, because compiling is slow and other commands do not need it. */
let compiled: ValidateFunction<Line | CategoryLine> | undefined
function validator(): ValidateFunction<Line | CategoryLine> {
  if (compiled) return compiled
  const isTime = addFormats.default(new Ajv()).compile({ type: 'string', format: 'date-time' })
  const ajv = addCharacterRules(addFormats.default(new Ajv({ allErrors: true, verbose: true, strict: false })))
  ajv.addFormat('date-time', (text) => utcTimestamp.test(text) || isTime(text))
  compiled = ajv.compile<Line | CategoryLine>(lineSchema)
  return compiled
}

/** Parses a line, trims its texts and converts its times to UTC. Returns all its problems if it is not valid. */
export function readLine(text: string): Line | CategoryLine | Problem[] {
  const parsed = parse(text)
  if (parsed === undefined) return [problem('', 'is not valid JSON')]
  const repeated = duplicateField(text)
  if (repeated) return [repeated]
  const unwrapped = unwrapReject(parsed)
  if (isNestedTooDeeply(unwrapped)) return [problem('', 'is nested too deeply')]
  const line = trimTexts(unwrapped)
  const validate = validator()
  if (!validate(line)) return objectProblems(validate.errors ?? [])
  const problems: Problem[] = []
  if (typeof line.category !== 'string') problems.push(...convertToUtc(line.category, '/category'))
  if (isCategoryLine(line)) return problems.length > 0 ? problems : line
  problems.push(
    ...convertToUtc(line, ''),
    ...(line.reviews ?? []).flatMap((review, index) => convertToUtc(review, `/reviews/${index}`)),
  )
  if ((line.status === 'rejected') !== isSet(line.rejection_reason)) {
    problems.push(problem('/rejection_reason', 'goes with the status rejected: both or neither'))
  }
  const { average_rating, rating_count } = line
  if (average_rating && average_rating < 1) problems.push(problem('/average_rating', 'must be 0, or 1 to 5'))
  if (isSet(rating_count) && rating_count > 0 !== (average_rating ?? 0) > 0) {
    problems.push(problem('/rating_count', 'goes with the average_rating: both 0, or neither'))
  }
  if (isSet(line.unreviewed_changes) !== isSet(line.unreviewed_since)) {
    problems.push(problem('/unreviewed_changes', 'goes with unreviewed_since: both or neither'))
  }
  if (isSet(line.unreviewed_since) && line.status === 'rejected') {
    problems.push(problem('/unreviewed_since', 'is not of a rejected app: that was the decision'))
  }
  return problems.length > 0 ? problems : line
}

export const isSet = <T>(value: T): value is NonNullable<T> => value !== undefined && value !== null

export const problem = (field: string, message: string): Problem => ({ in: 'body', field, message })

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Trims all texts of a value, in place. */
function trimTexts(value: unknown): unknown {
  if (typeof value === 'string') return value.trim()
  if (typeof value !== 'object' || value === null) return value
  const parts = value as Record<string, unknown>
  for (const name of Object.keys(parts)) {
    const part = parts[name]
    const trimmed = trimTexts(part)
    if (trimmed !== part) parts[name] = trimmed
  }
  return value
}

/** Converts times, in place, to the form in which they are stored. Returns problems for times that do not exist, such as leap seconds. */
function convertToUtc(times: Partial<Record<(typeof timeFields)[number], string | null>>, path: string): Problem[] {
  const problems: Problem[] = []
  for (const field of timeFields) {
    const text = times[field]
    if (!isSet(text)) continue
    if (utcTimestamp.test(text)) continue
    const time = Date.parse(text)
    if (Number.isNaN(time)) {
      problems.push(problem(`${path}/${field}`, 'is not a time that exists'))
      continue
    }
    const stored = new Date(time).toISOString()
    times[field] = stored
    // Years with more than four digits have a sign, so they do not sort as text.
    if (!/^\d{4}-/.test(stored)) problems.push(problem(`${path}/${field}`, 'must be in the years 0000 to 9999'))
  }
  return problems
}

/** A time in its stored form, on a day that every month has. Most times match, which saves parsing them. */
const utcTimestamp = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}\.\d{3}Z$/

const timeFields = ['created_at', 'updated_at', 'approved_at', 'deleted_at', 'unreviewed_since'] as const

/** A function declaration, because the constants above call it. */
function nullable<Schema extends { type: string }>(schema: Schema) {
  return { ...schema, type: [schema.type, 'null'] }
}

function pick<T extends object, Key extends keyof T>(object: T, ...keys: Key[]): Pick<T, Key> {
  return Object.fromEntries(keys.map((key) => [key, object[key]])) as Pick<T, Key>
}
