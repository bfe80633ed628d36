type IsAny<T> = 0 extends 1 & T ? true : false
type Identical<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** A type without names, aliases and intersections, so that it can be compared. */
type Plain<T> =
  IsAny<T> extends true ? T : T extends object ? { [Key in keyof T]: Plain<T[Key]> } : T

type At<T, Key> = Key extends keyof T ? T[Key] : never
type Join<Path extends string, Key> = Path extends ''
  ? Key & string
  : `${Path}.${Key & (string | number)}`

/** Drops members whose type is never, and makes the others required. */
export type DropNever<T> = {
  [Key in keyof T as [NonNullable<T[Key]>] extends [never] ? never : Key]-?: NonNullable<T[Key]>
}

/**
 * The paths at which a client's types differ from the contract: a member missing or added, an `any`
 * or `unknown`, a wider type, an optional value that is required. Never if there is no difference.
 */
export type Losses<Generated, Expected, Path extends string = ''> =
  Identical<Plain<Generated>, Plain<Expected>> extends true
    ? never
    : IsAny<Generated> extends true
      ? Path
      : [Generated] extends [readonly unknown[]]
        ? Path
        : [Generated, Expected] extends [object, object]
          ? Deeper<
              {
                [Key in keyof Generated | keyof Expected]: Losses<
                  At<Generated, Key>,
                  At<Expected, Key>,
                  Join<Path, Key>
                >
              }[keyof Generated | keyof Expected],
              Path
            >
          : Path

/** Members of a union cannot be paired, so it differs as a whole. */
type Deeper<Paths, Path> = [Paths] extends [never] ? Path : Paths

/**
 * The losses of all operations, without the operations' names: a generator loses the same in each.
 */
export type AllLosses<Generated, Expected> = {
  [Id in keyof Expected]: Losses<At<Generated, Id>, Expected[Id]>
}[keyof Expected]

type AnyCall = (...args: never[]) => unknown
type Call<Result> = (...args: never[]) => PromiseLike<Result>

/** The answers of a call whose result is a union by status. */
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

/** The answers of a call whose result has either data or an error. */
export type DataOrError<Result> = [Result] extends [{ data?: infer Data; error?: infer Failure }]
  ? { success: NonNullable<Data>; error: NonNullable<Failure> }
  : never

/**
 * The arguments, by place, of a function that takes them in the order of places. A path has at most
 * one parameter.
 */
export type ByPosition<
  Parameters,
  Expected,
  Places = ['path', 'body', 'query', 'header'],
> = Places extends [infer Place extends string, ...infer Others]
  ? Place extends keyof Expected
    ? Parameters extends [(infer First)?, ...infer Rest]
      ? Record<
          Place,
          Place extends 'path' ? Record<keyof Expected[Place], First> : NonNullable<First>
        > &
          ByPosition<Rest, Expected, Others>
      : never
    : ByPosition<Parameters, Expected, Others>
  : unknown

/** The function of this name, in any group of functions. */
export type Grouped<Groups, Name> = {
  [Group in keyof Groups]: Name extends keyof Groups[Group]
    ? Extract<Groups[Group][Name], AnyCall>
    : never
}[keyof Groups]

/** Parameters with camelCase names: ifMatch for If-Match, packageName for package_name. */
export type CamelCased<Parameters> = {
  [Name in keyof Parameters as Name extends string
    ? Uncapitalize<Joined<Name>>
    : never]: Parameters[Name]
}
type Joined<Name extends string> = Name extends `${infer Word}${'-' | '_'}${infer Others}`
  ? `${Word}${Capitalize<Joined<Others>>}`
  : Name

/** The members that the contract has, too. Some clients type the others as any. */
export type Shared<Generated, Expected> = Pick<Generated, keyof Generated & keyof Expected>

/** The members of one place; none if the operation has no such place. */
export type Members<Arguments, Place> = Place extends keyof Arguments ? Arguments[Place] : unknown

/** Replaces tuples with arrays: one client makes a tuple of maxItems optional items. */
export type Untupled<T> = T extends readonly unknown[]
  ? Untupled<NonNullable<T[number]>>[]
  : T extends object
    ? { [Key in keyof T]: Untupled<T[Key]> }
    : T
