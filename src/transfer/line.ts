import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import document from '../../generated/openapi.json' with { type: 'json' }
import type { AppChanges, Problem } from '../contract/contract.ts'
import { categoryNameRule, developerNameRule, reasonRule, reviewerNameRule } from '../contract/field-rules.ts'
import { duplicateField, objectProblems, textProblems } from '../contract/validation.ts'
import type { AppStatus } from '../db/tables.ts'
import type { SearchDocument } from '../search/document.ts'
import { isNestedTooDeeply, unwrapReject } from './rejects.ts'

/** A line of a catalogue file: one app with all that belongs to it. What it leaves out stays; null says that it is not set. */
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
/** What fields were; a category by its slug. */
type LineChanges = { [Field in Exclude<keyof AppChanges, 'category_id'> | 'category']?: string | null }
export type LineCategory = { id?: number; slug: string; name: string; created_at?: string }

/** A line of a category alone: one without an app is in no other, and one that was renamed is known by this. */
export type CategoryLine = { category: LineCategory }
export const isCategoryLine = (line: Line | CategoryLine): line is CategoryLine => !('name' in line)
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
  /** Refused only because an app has its package name. A later line may rename that app. */
  isRetryable?: boolean
}

export type LineReview = { id?: number; reviewer_name: string; rating: number; comment: string; created_at: string }

/** What the contract gives an app that names no version. */
export const defaultVersion = document.components.schemas.NewApp.properties.version.default

const { CategorySlug, Review, ...schemas } = document.components.schemas
const { pattern: _, ...Timestamp } = {
  ...schemas.Timestamp,
  maxLength: 40,
  'x-format-message': 'must be a time such as 2026-03-04T09:12:45Z or 2026-03-04T10:12:45+01:00',
}

/**
 * JSON Schema (draft 7) of a line. What the API says of an app holds here too: its components are the contract's own.
 * Times may be in any zone and of any precision; they are kept in UTC, to the millisecond.
 */
export const lineSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'A line of a catalogue file',
  description:
    'Newline-delimited JSON in UTF-8. A line is an app; one that has a category alone, as an object, is that category. What a line leaves out stays as it is in an app that is there; null says that it is not set.',
  type: 'object',
  additionalProperties: false,
  if: { maxProperties: 1, required: ['category'], properties: { category: { type: 'object' } } },
  else: { required: ['name', 'description', 'category', 'developer_name'] },
  properties: {
    id: { ...schemas.AppId, description: 'Kept where no app of the database has it; else a new one is given.' },
    name: schemas.NewAppName,
    short_description: nullable(schemas.NewShortDescription),
    description: schemas.NewAppDescription,
    version: { ...schemas.NewAppVersion, default: defaultVersion },
    package_name: {
      ...nullable(schemas.PackageName),
      description:
        'An app that is there already is known by its id, slug and created_at together, whoever owns it; or else by its package_name; or else by its slug, if the developer is the same; or else, without package_name and slug, by its developer_name and exact name, if it has no package name.',
    },
    slug: {
      ...schemas.AppSlug,
      description:
        "Made from the name where it is left out; another is made where it is that of another developer's app.",
    },
    category: {
      description: 'Slug of a category; with its name, the category is made where there is none.',
      type: ['string', 'object'],
      ...pick(CategorySlug, 'minLength', 'maxLength', 'pattern', 'x-pattern-message'),
      additionalProperties: false,
      required: ['slug', 'name'],
      properties: {
        id: schemas.CategoryId,
        slug: CategorySlug,
        name: categoryNameRule,
        created_at: {
          ...Timestamp,
          description:
            'In a line of its own: with the same id, this tells a category that was given another slug or name.',
        },
      },
    },
    developer_name: {
      ...developerNameRule,
      description: 'Owner of the app; made where there is none of this name.',
    },
    status: { ...schemas.AppStatus, default: 'pending' },
    rejection_reason: {
      ...nullable(reasonRule),
      description: 'With the status `rejected` alone, and always.',
    },
    total_downloads: { ...schemas.Downloads, default: 0 },
    average_rating: {
      ...nullable(schemas.AverageRating),
      description: 'Mean of the ratings that came without a review, beside those of the reviews: 1 to 5, or 0 of none.',
    },
    rating_count: {
      ...nullable(schemas.RatingCount),
      // The sum of so many, in hundredths, is a number that every program can tell.
      maximum: 1_000_000_000_000,
      description: 'How many ratings that is the mean of; 1 where it is left out.',
    },
    created_at: { ...Timestamp, description: 'When the app was created; the time of the import where it is left out.' },
    updated_at: { ...Timestamp, description: 'When the app last changed.' },
    approved_at: {
      ...nullable(Timestamp),
      description: 'First approval; an approved app without it was approved when it was created.',
    },
    deleted_at: {
      ...nullable(Timestamp),
      description:
        'Of an app that is gone, and keeps its id, slug and package name. null brings back one that is deleted here, if the updated_at of the line is later.',
    },
    unreviewed_since: {
      ...nullable(Timestamp),
      description: 'Since when the owner has changed what an operator last decided on, and none has looked at it.',
    },
    unreviewed_changes: {
      description: 'With unreviewed_since: the fields that were changed, as they were before; a category by its slug.',
      type: ['object', 'null'],
      additionalProperties: false,
      properties: {
        name: schemas.AppName,
        short_description: nullable(schemas.ShortDescription),
        description: schemas.AppDescription,
        version: schemas.AppVersion,
        package_name: nullable(schemas.PackageName),
        category: CategorySlug,
      } satisfies Record<keyof LineChanges, object>,
    },
    reviews: {
      description: 'All reviews of the app.',
      type: 'array',
      items: {
        ...Review,
        required: Review.required.filter((name) => name !== 'id'),
        properties: {
          ...Review.properties,
          reviewer_name: reviewerNameRule,
          id: { ...Review.properties.id, description: 'Kept where no review of the database has it.' },
          created_at: Timestamp,
        },
      },
    },
  } satisfies Record<keyof Line, object>,
}

/** Compiled when the first line is read: every other command does without. */
let compiled: ValidateFunction<Line | CategoryLine> | undefined
function validator(): ValidateFunction<Line | CategoryLine> {
  if (compiled) return compiled
  const isTime = addFormats.default(new Ajv()).compile({ type: 'string', format: 'date-time' })
  const ajv = addFormats.default(new Ajv({ allErrors: true, verbose: true, strict: false }))
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
  const problems = textProblems(line)
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

/** Whether a field is there and not null. */
export const isSet = <T>(value: T): value is NonNullable<T> => value !== undefined && value !== null

export const problem = (field: string, message: string): Problem => ({ in: 'body', field, message })

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** White space around texts goes, in the value itself: it was parsed for this alone. */
function trimTexts(value: unknown): unknown {
  if (typeof value === 'string') return value.trim()
  if (typeof value !== 'object' || value === null) return value
  const parts = value as Record<string, unknown>
  for (const name of Object.keys(parts)) {
    const part = parts[name]
    const kept = trimTexts(part)
    if (kept !== part) parts[name] = kept
  }
  return value
}

/** Writes times as they are stored; the problems of those that are none, such as a leap second. */
function convertToUtc(times: Partial<Record<(typeof timeFields)[number], string | null>>, where: string): Problem[] {
  const problems: Problem[] = []
  for (const field of timeFields) {
    const text = times[field]
    if (!isSet(text)) continue
    if (utcTimestamp.test(text)) continue
    const time = Date.parse(text)
    if (Number.isNaN(time)) {
      problems.push(problem(`${where}/${field}`, 'is no time that there is'))
      continue
    }
    const stored = new Date(time).toISOString()
    times[field] = stored
    // A year of more than four digits has a sign before it, and text with one does not sort by time.
    if (!/^\d{4}-/.test(stored)) problems.push(problem(`${where}/${field}`, 'must be in the years 0000 to 9999'))
  }
  return problems
}

/** A time as it is stored, on a day that every month has: most are such, and need no more looking at. */
const utcTimestamp = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}\.\d{3}Z$/

const timeFields = ['created_at', 'updated_at', 'approved_at', 'deleted_at', 'unreviewed_since'] as const

/** A function, not a constant: what stands above calls it. */
function nullable<Schema extends { type: string }>(schema: Schema) {
  return { ...schema, type: [schema.type, 'null'] }
}

function pick<T extends object, Key extends keyof T>(object: T, ...keys: Key[]): Pick<T, Key> {
  return Object.fromEntries(keys.map((key) => [key, object[key]])) as Pick<T, Key>
}
