type IsAny<T> = 0 extends 1 & T ? true : false
type Identical<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** A type without names, aliases and intersections, so that it can be compared. */
type Plain<T> = IsAny<T> extends true ? T : T extends object ? { [Key in keyof T]: Plain<T[Key]> } : T

type At<T, Key> = Key extends keyof T ? T[Key] : never
type Join<Path extends string, Key> = Path extends '' ? Key & string : `${Path}.${Key & (string | number)}`

/**
 * The paths at which what a client gives is not what the contract says, to the letter: something missing or too much, an
 * `any` or `unknown`, a wider type, an optional value that is required. Never where nothing is lost.
 */
export type Losses<Given, Said, Path extends string = ''> =
  Identical<Plain<Given>, Plain<Said>> extends true
    ? never
    : IsAny<Given> extends true
      ? Path
      : [Given] extends [readonly unknown[]]
        ? Path
        : [Given, Said] extends [object, object]
          ? Deeper<
              { [Key in keyof Given | keyof Said]: Losses<At<Given, Key>, At<Said, Key>, Join<Path, Key>> }[
                | keyof Given
                | keyof Said],
              Path
            >
          : Path

/** Unions have no paths of their own, and differ as a whole. */
type Deeper<Paths, Path> = [Paths] extends [never] ? Path : Paths

type Call<Result> = (...args: never[]) => Promise<Result>

/** The answers of a call whose result is one of several, told apart by status. */
export type ByStatus<Function extends Call<{ status: number }>> = {
  answers: Bodies<Awaited<ReturnType<Function>>>
}
type Bodies<Result extends { status: number }> = {
  [Status in Result['status']]: Extract<Result, { status: Status }> extends { data: infer Body }
    ? Body extends void
      ? undefined
      : Body
    : undefined
}

/** The answers of a call whose result has either data or an error; a 304 has neither. */
export type DataOrError<Function extends Call<{ data?: unknown; error?: unknown }>> = {
  success: NonNullable<Awaited<ReturnType<Function>>['data']>
  error: NonNullable<Awaited<ReturnType<Function>>['error']>
}
