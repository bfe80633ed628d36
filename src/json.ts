const known = new WeakMap<object, Buffer>()

/** JSON, as bytes, of an object that does not change any more, made once: an answer's data is hashed and sent. */
export function jsonOf(object: object): Buffer {
  const made = known.get(object)
  if (made !== undefined) return made
  const bytes = Buffer.from(JSON.stringify(object))
  known.set(object, bytes)
  return bytes
}
