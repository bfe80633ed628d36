const texts = new WeakMap<object, string>()

/** JSON of an object that does not change any more, made once: an answer's data is hashed and sent. */
export function jsonOf(object: object): string {
  const known = texts.get(object)
  if (known !== undefined) return known
  const text = JSON.stringify(object)
  texts.set(object, text)
  return text
}
