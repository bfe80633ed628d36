import { appHandlers } from '../../src/catalogue/handlers.ts'
import type { App, Caller, ErrorCode, ErrorData, Handlers, Input, StatusOf } from '../../src/contract/contract.ts'
import type { Database } from '../../src/db/database.ts'

/** Never run: tsc reads it, and complains where one of these would compile. */

declare const database: Database
const handlers = appHandlers(database, '')
const { deleteApp: _, ...withoutDelete } = handlers

// @ts-expect-error a handler is missing
export const missing: Handlers = withoutDelete

// @ts-expect-error a handler is of no operation
export const misspelt: Handlers = { ...handlers, deleteApps: handlers.deleteApp }

export const wrongBody: Handlers = {
  ...handlers,
  // @ts-expect-error the reply's body is not the operation's
  deleteApp: async () => ({ status: 200, headers: {}, body: { success: true, message: 'Gone.', data: { id: 1 } } }),
}

export const wrongStatus: Handlers = {
  ...handlers,
  // @ts-expect-error the document has no such status
  createApp: async () => ({
    status: 202,
    headers: { Location: '' },
    body: { success: true, message: '', data: { app_id: 1, slug: '', status: 'pending' } },
  }),
}

export const headerLeftOut: Handlers = {
  ...handlers,
  // @ts-expect-error the document demands Location
  createApp: async () => ({
    status: 201,
    headers: {},
    body: { success: true, message: '', data: { app_id: 1, slug: '', status: 'pending' } },
  }),
}

export const unknownInput: Handlers = {
  ...handlers,
  // @ts-expect-error the operation has no such parameter
  listApps: (input) => handlers.listApps({ ...input, query: { ...input.query, page: input.query.pages } }),
}

declare const app: App

// @ts-expect-error answers are open in the document, and have no index all the same
export const unknownField = app.colour

// @ts-expect-error the document has no such code
export const noCode: ErrorCode = 'gone'

// @ts-expect-error the document gives the code another status
export const otherStatus: StatusOf<'not_found'> = 410

// @ts-expect-error this error names no problems
export const moreData: ErrorData = { code: 'forbidden', errors: [] }

declare const list: Input<'listApps'>
declare const create: Input<'createApp'>

/** What has a default is filled in before a handler sees it. */
export const filledIn: { page: number; limit: number; version: string } = {
  ...list.query,
  version: create.body.version,
}

// @ts-expect-error nothing fills in a parameter that has no default
export const leftOut: string = list.query.search

/** Nobody creates without a key. */
export const creator: Caller = create.caller

// @ts-expect-error anybody may list
export const reader: Caller = list.caller
