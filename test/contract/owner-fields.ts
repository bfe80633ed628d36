import document from '../../generated/openapi.json' with { type: 'json' }
import { resolved, type Schema } from './operations.ts'

/** The fields of an app that owners set, by name, as the document describes them. */

const { properties = {} }: Schema = resolved(document.components.schemas.AppChanges, document)

export const ownerFields = Object.keys(properties)
export const ownerTexts = Object.entries(properties).filter(([, { type }]) => type === 'string')
