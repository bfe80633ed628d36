import document from '../../generated/openapi.json' with { type: 'json' }

/** The orders of lists of apps, from the document, so that no test has to be told of a new one. */
export const sortOrders = document.components.schemas.SortOrder.enum
