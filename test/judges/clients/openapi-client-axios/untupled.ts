/** The type with arrays where typegen writes a tuple, of as many optional items as the document's maxItems. */
export type Untupled<T> = T extends readonly unknown[]
  ? Untupled<NonNullable<T[number]>>[]
  : T extends object
    ? { [Key in keyof T]: Untupled<T[Key]> }
    : T
