/** A value that is there as JSON already, and is sent as it is: what the database has written need not be read. */
export class Json<Value> {
  readonly bytes: Buffer
  /** Known to the compiler alone. */
  declare readonly value: Value

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  toJSON(): unknown {
    return JSON.parse(String(this.bytes))
  }
}

const known = new WeakMap<object, Buffer>()

/** JSON, as bytes, of an object that does not change any more, made once: an answer's data is hashed and sent. */
export function jsonOf(object: object): Buffer {
  const made = known.get(object)
  if (made !== undefined) return made
  const bytes = Object.values(object).some(isJson) ? joined(object) : Buffer.from(JSON.stringify(object))
  known.set(object, bytes)
  return bytes
}

const isJson = (value: unknown): value is Json<unknown> => value instanceof Json

/** Field by field, so that those that are JSON already are copied. */
function joined(object: object): Buffer {
  const fields = Object.entries(object).filter(([, value]) => value !== undefined)
  const parts = fields.flatMap(([name, value], index) => [
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    isJson(value) ? value.bytes : Buffer.from(JSON.stringify(value)),
  ])
  return Buffer.concat([...parts, Buffer.from('}')])
}
