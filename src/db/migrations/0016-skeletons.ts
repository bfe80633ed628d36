/**
 * Creates the search index anew: it has the skeletons of names now, which find names that look
 * alike.
 */
export { up } from './0010-search.ts'
