/** All fields of T. An optional one may be null, but not left out. */
type Every<T> = {
  [Field in keyof T]-?: Record<never, never> extends Pick<T, Field> ? Exclude<T[Field], undefined> | null : T[Field]
}

/**
 * Removes the fields that are null: the database has nulls, the contract has optional fields. A caller that forgets an
 * optional field does not compile.
 */
export const omitNulls = <T extends object>(fields: Every<T>): T =>
  // Only optional fields can be null, so the rest is a T.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as T
