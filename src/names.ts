import { ServiceError } from './errors.ts'

/** What an operator names something: 1 to 100 characters on one line, white space around them aside. Throws `refused`. */
export function nameFrom(text: string, what: string): string {
  const name = text.trim()
  const length = [...name].length
  if (length >= 1 && length <= 100 && !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(name)) return name
  throw new ServiceError('refused', `${what} is 1 to 100 characters on one line`)
}
