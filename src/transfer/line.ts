import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import document from '../../generated/openapi.json' with { type: 'json' }
import type { UnreviewedChanges } from '../catalogue/policy.ts'
import type { NewReviewRow } from '../catalogue/store.ts'
import type { Problem } from '../contract/contract.ts'
import {
  appSlugRule,
  categoryNameRule,
  categorySlugRule,
  developerNameRule,
  reasonRule,
  reviewerNameRule,
} from '../contract/field-rules.ts'
import { addCharacterRules, duplicateField, objectProblems } from '../contract/validation.ts'
import type { AppStatus, CategoryRow } from '../db/tables.ts'
import { idLimit, type SearchDocument } from '../search/terms.ts'
import { required } from '../util/helpers.ts'
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
type LineChanges = Omit<UnreviewedChanges, 'category_id'> & { category?: string }
export type LineCategory = Pick<CategoryRow, 'slug' | 'name'> & Partial<Pick<CategoryRow, 'id' | 'created_at'>>
export type LineReview = Omit<NewReviewRow, 'app_id'>

/** A category as a line. Without it an export would have no categories without apps, and no renamed ones. */
export type CategoryLine = { category: LineCategory }
export const isCategoryLine = (line: Line | CategoryLine): line is CategoryLine => !('name' in line)

/** A line on its way into the database. */
export type ImportLine = {
  number: number
  /** As it was read; undefined if it is not UTF-8. */
  text?: string
  /** One of the two, unless the line is not valid. */
  app?: Line
  category?: LineCategory
  /** Prepared while the previous lines are written, for an app that will be listed. */
  document?: SearchDocument
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
    id: {
      ...schemas.AppId,
      maximum: idLimit - 1,
      description: 'Used if no app of the database has it; otherwise the app gets a new one.',
    },
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
      ...nullable(schemas.App.properties.rating_count),
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
        short_description: nullable({ ...schemas.App.properties.short_description, ...storedText }),
        description: { ...schemas.AppDescription, ...storedText },
        version: { ...schemas.App.properties.version, ...storedText },
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

/** Compiled for the first line, because that takes longer than most commands. */
let validate: ValidateFunction<Line | CategoryLine> | undefined

/** Parses a line, trims its texts and converts its times to UTC. Returns all its problems if it is not valid. */
export function readLine(text: string): Line | CategoryLine | Problem[] {
  const parsed = parse(text)
  if (parsed === undefined) return [problem('', 'is not valid JSON')]
  const repeated = duplicateField(text)
  if (repeated) return [repeated]
  const unwrapped = unwrapReject(parsed)
  if (isNestedTooDeeply(unwrapped)) return [problem('', 'is nested too deeply')]
  const line = trimTexts(unwrapped)
  validate ??= addCharacterRules(
    addFormats.default(new Ajv({ allErrors: true, verbose: true, strict: false })),
  ).compile(lineSchema)
  if (!validate(line)) return objectProblems(required(validate.errors, 'the errors of a line'))
  const { category } = line
  const problems = [
    ...(typeof category === 'string' ? [] : convertToUtc(category, '/category')),
    ...(isCategoryLine(line) ? [] : appProblems(line)),
  ]
  return problems.length > 0 ? problems : line
}

/** What the schema cannot say about the line of an app. Converts its times to UTC. */
function appProblems(line: Line): Problem[] {
  const { status, rejection_reason, average_rating, rating_count, unreviewed_since, unreviewed_changes } = line
  const rules: [holds: boolean, field: string, message: string][] = [
    [
      isSet(rejection_reason) === (status === 'rejected'),
      '/rejection_reason',
      'is needed with the status rejected only',
    ],
    [!average_rating || average_rating >= 1, '/average_rating', 'must be 0, or 1 to 5'],
    [
      !isSet(rating_count) || rating_count > 0 === !!average_rating,
      '/rating_count',
      'must be 0 if there is no average_rating, and only then',
    ],
    [
      isSet(unreviewed_changes) === isSet(unreviewed_since),
      '/unreviewed_changes',
      'goes with unreviewed_since: both or neither',
    ],
    [!isSet(unreviewed_since) || status !== 'rejected', '/unreviewed_since', 'must be null for a rejected app'],
  ]
  return [
    ...convertToUtc(line, ''),
    ...(line.reviews ?? []).flatMap((review, index) => convertToUtc(review, `/reviews/${index}`)),
    ...rules.filter(([holds]) => !holds).map(([, field, message]) => problem(field, message)),
  ]
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
  return timeFields.flatMap((field) => {
    const text = times[field]
    if (!isSet(text)) return []
    const time = new Date(text)
    if (Number.isNaN(time.getTime())) return [problem(`${path}/${field}`, 'is not a time that exists')]
    const stored = time.toISOString()
    times[field] = stored
    // Years with more than four digits have a sign, so they do not sort as text.
    return /^\d{4}-/.test(stored) ? [] : [problem(`${path}/${field}`, 'must be in the years 0000 to 9999')]
  })
}

const timeFields = ['created_at', 'updated_at', 'approved_at', 'deleted_at', 'unreviewed_since'] as const

/** A function declaration, because the constants above call it. */
function nullable<Schema extends { type: string }>(schema: Schema) {
  return { ...schema, type: [schema.type, 'null'] }
}

export function pick<T extends object, Key extends keyof T>(object: T, ...keys: Key[]): Pick<T, Key> {
  return Object.fromEntries(keys.map((key) => [key, object[key]])) as Pick<T, Key>
}
