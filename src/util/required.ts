/** The value, or an error where it is missing: for what the code around it guarantees. `what` names it in the error. */
export function required<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`${what} is missing`)
  return value
}
