import type { components } from '../../generated/openapi.d.ts'
import type {
  App,
  Caller,
  ErrorCode,
  ErrorData,
  Handlers,
  Input,
} from '../../src/contract/contract.ts'
import type { Database } from '../../src/db/database.ts'
import { createHandlers } from '../../src/http/handlers.ts'

/** Never run. tsc fails if one of these compiles. */

/** openapi-typescript requires a field of a request that has the keyword `default`. */
export const leastApp: components['schemas']['NewApp'] = {
  name: 'Star Map',
  description: 'The sky above you.',
  category_id: 1,
}

declare const database: Database
const handlers = createHandlers(database, '')
const { deleteApp: _, ...withoutDelete } = handlers

// @ts-expect-error a handler is missing
export const missing: Handlers = withoutDelete

// @ts-expect-error a handler without an operation
export const misspelt: Handlers = { ...handlers, deleteApps: handlers.deleteApp }

export const wrongBody: Handlers = {
  ...handlers,
  // @ts-expect-error the body does not match the operation
  deleteApp: async () => ({
    status: 200,
    headers: {},
    body: { message: 'Gone.', data: { id: 1 } },
  }),
}

export const wrongStatus: Handlers = {
  ...handlers,
  // @ts-expect-error the document has no such status
  createApp: async () => ({
    status: 202,
    headers: { Location: '' },
    body: { message: '', data: { app_id: 1, slug: '', status: 'pending' as const } },
  }),
}

export const headerLeftOut: Handlers = {
  ...handlers,
  // @ts-expect-error the document requires Location
  createApp: async () => ({
    status: 201,
    headers: {},
    body: { message: '', data: { app_id: 1, slug: '', status: 'pending' as const } },
  }),
}

export const unknownInput: Handlers = {
  ...handlers,
  listApps: (input) => {
    // @ts-expect-error the operation has no such parameter
    const page = input.query.pages
    return handlers.listApps({ ...input, query: { ...input.query, page } })
  },
}

declare const app: App

// @ts-expect-error responses are open in the document, but their types have no index signature
export const unknownField = app.colour

// @ts-expect-error the document has no such code
export const noCode: ErrorCode = 'gone'

// @ts-expect-error this error has no list of problems
export const moreData: ErrorData = { code: 'forbidden', errors: [] }

declare const list: Input<'listApps'>
declare const create: Input<'createApp'>

/** A handler gets values with defaults filled in. */
export const filledIn: { page: number; limit: number } = list.query

// @ts-expect-error a parameter without a default stays optional
export const leftOut: string = list.query.search

/** Creating needs a key. */
export const creator: Caller = create.caller

// @ts-expect-error listing needs no key
export const reader: Caller = list.caller
