/** Every field of an object, null where one that may be left out is not set. */
type Every<T> = {
  [Field in keyof T]-?: Record<never, never> extends Pick<T, Field> ? Exclude<T[Field], undefined> | null : T[Field]
}

/**
 * An object without its fields that are not set: a database has null there, and the contract, which has no nulls, nothing. To
 * forget a field does not compile, not even one that may be left out.
 */
export const omitNulls = <T extends object>(fields: Every<T>): T =>
  // Without the nulls it is one: only what T may lack can be null.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as T
