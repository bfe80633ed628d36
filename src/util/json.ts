/** A value that is there as JSON already, and is sent as it is: what the database has written need not be read. */
export class SerializedJson<Value> {
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

const cache = new WeakMap<object, Buffer>()

/** JSON, as bytes, of an object that does not change any more, made once: an answer's data is hashed and sent. */
export function serialize(object: object): Buffer {
  const cached = cache.get(object)
  if (cached !== undefined) return cached
  const bytes = Object.values(object).some(isSerialized) ? serializeFields(object) : Buffer.from(JSON.stringify(object))
  cache.set(object, bytes)
  return bytes
}

const isSerialized = (value: unknown): value is SerializedJson<unknown> => value instanceof SerializedJson

/** Field by field, so that those that are JSON already are copied. */
function serializeFields(object: object): Buffer {
  const fields = Object.entries(object).filter(([, value]) => value !== undefined)
  const parts = fields.flatMap(([name, value], index) => [
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    isSerialized(value) ? value.bytes : Buffer.from(JSON.stringify(value)),
  ])
  return Buffer.concat([...parts, Buffer.from('}')])
}
