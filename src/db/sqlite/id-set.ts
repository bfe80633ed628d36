/** How many ids a piece of a set stands for: a bit each. A multiple of 32. */
const pieceSpan = 4096
const pieceWords = pieceSpan / 32
const piecesInBlock = 32
/** How many ids a set is stored by: so much of it is rewritten where one of them comes or goes. */
const blockSpan = pieceSpan * piecesInBlock
const blockBytes = blockSpan / 8

/** A set of ids, as bits, in pieces that are there only where there is an id: what most have, and what few have. */
export class IdSet {
  readonly #pieces = new Map<number, Uint32Array>()

  constructor(ids: Iterable<number> = []) {
    for (const id of ids) this.add(id)
  }

  add(id: number) {
    const number = Math.floor(id / pieceSpan)
    const at = id - number * pieceSpan
    const piece = this.#pieceAt(number)
    piece[at >>> 5] = (piece[at >>> 5] ?? 0) | (1 << (at & 31))
  }

  #pieceAt(number: number): Uint32Array {
    const known = this.#pieces.get(number)
    if (known) return known
    const piece = new Uint32Array(pieceWords)
    this.#pieces.set(number, piece)
    return piece
  }

  has(id: number): boolean {
    const number = Math.floor(id / pieceSpan)
    const at = id - number * pieceSpan
    return (((this.#pieces.get(number)?.[at >>> 5] ?? 0) >>> (at & 31)) & 1) === 1
  }

  /** Adds what is in the other. */
  join(other: IdSet): this {
    for (const [number, its] of other.#pieces) this.#joinPiece(number, its)
    return this
  }

  #joinPiece(number: number, its: Uint32Array) {
    const piece = this.#pieceAt(number)
    for (let at = 0; at < pieceWords; at++) piece[at] = (piece[at] ?? 0) | (its[at] ?? 0)
  }

  /** Leaves what is in the other, too. */
  meet(other: IdSet): this {
    for (const [number, piece] of this.#pieces) {
      const its = other.#pieces.get(number)
      let any = 0
      if (its) for (let at = 0; at < pieceWords; at++) any |= piece[at] = (piece[at] ?? 0) & (its[at] ?? 0)
      if (any === 0) this.#pieces.delete(number)
    }
    return this
  }

  /** Leaves what is not in the other. */
  drop(other: IdSet): this {
    for (const [number, its] of other.#pieces) {
      const piece = this.#pieces.get(number)
      let any = 0
      if (piece) for (let at = 0; at < pieceWords; at++) any |= piece[at] = (piece[at] ?? 0) & ~(its[at] ?? 0)
      if (any === 0) this.#pieces.delete(number)
    }
    return this
  }

  copy(): IdSet {
    return new IdSet().join(this)
  }

  get size(): number {
    let size = 0
    for (const piece of this.#pieces.values()) {
      for (const word of piece) size += ones(word)
    }
    return size
  }

  get bytes(): number {
    return this.#pieces.size * (pieceSpan / 8)
  }

  /** In no order but within a piece. */
  *[Symbol.iterator]() {
    for (const [number, piece] of this.#pieces) yield* idsIn(piece, number * pieceSpan)
  }

  /** The blocks in which there is an id. */
  get blocks(): Set<number> {
    return new Set(this.#pieces.keys().map((number) => Math.floor(number / piecesInBlock)))
  }

  /** A block as it is stored: its bits, or the gaps between its ids where these are shorter, seven bits a byte. */
  encode(block: number): Buffer {
    const gaps = Buffer.allocUnsafe(blockBytes + 3)
    let length = 0
    let next = 0
    for (let index = 0; index < piecesInBlock; index++) {
      const piece = this.#pieces.get(block * piecesInBlock + index)
      for (let at = 0; piece && at < pieceWords; at++) {
        for (let word = piece[at] ?? 0; word !== 0; word &= word - 1) {
          const id = index * pieceSpan + at * 32 + 31 - Math.clz32(word & -word)
          let gap = id - next
          next = id + 1
          while (gap > 127) {
            gaps[length++] = (gap & 127) | 128
            gap >>>= 7
          }
          gaps[length++] = gap
          if (length >= blockBytes) return this.#bits(block)
        }
      }
    }
    return gaps.subarray(0, length)
  }

  #bits(block: number): Buffer {
    const bits = Buffer.alloc(blockBytes)
    for (let index = 0; index < piecesInBlock; index++) {
      const piece = this.#pieces.get(block * piecesInBlock + index)
      if (piece) bits.set(new Uint8Array(piece.buffer), index * (pieceSpan / 8))
    }
    return bits
  }

  addEncoded(block: number, stored: Uint8Array) {
    if (stored.length === blockBytes) {
      const bits = new Uint32Array(new Uint8Array(stored).buffer)
      for (let index = 0; index < piecesInBlock; index++) {
        this.#joinPiece(block * piecesInBlock + index, bits.subarray(index * pieceWords, (index + 1) * pieceWords))
      }
      return
    }
    let next = 0
    let gap = 0
    let shift = 0
    for (const byte of stored) {
      gap |= (byte & 127) << shift
      shift += 7
      if (byte > 127) continue
      const id = next + gap
      const piece = this.#pieceAt(block * piecesInBlock + Math.floor(id / pieceSpan))
      const at = id % pieceSpan
      piece[at >>> 5] = (piece[at >>> 5] ?? 0) | (1 << (at & 31))
      next = id + 1
      gap = 0
      shift = 0
    }
  }
}

/** How many bits of a word are set (Hacker's Delight, 5-1). */
function ones(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

function* idsIn(piece: Uint32Array, first: number) {
  for (let at = 0; at < pieceWords; at++) {
    for (let word = piece[at] ?? 0; word !== 0; word &= word - 1) yield first + at * 32 + 31 - Math.clz32(word & -word)
  }
}

/** The ids in a text with commas between, as SQLite's group_concat makes it: splitting it takes three times as long. */
export function* idsOf(text: string | null | undefined) {
  if (!text) return
  let id = 0
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit >= 0) {
      id = id * 10 + digit
    } else {
      yield id
      id = 0
    }
  }
  yield id
}
