import document from '../../generated/openapi.json' with { type: 'json' }
import { resolved, type Schema } from './operations.ts'

/** The fields of an app that owners set, by name, as the document describes them. */

const { properties = {} }: Schema = resolved(document.components.schemas.AppChanges, document)

export const ownerFields = Object.keys(properties)
/** Also lists of texts, with the rules of a text. */
export const ownerTexts = Object.entries(properties)
  .map(([name, schema]) => [name, { ...schema, ...schema.items }] as const)
  .filter(([, { type }]) => type === 'string')
