/** A developer, by one of their keys. */
export type Caller = Readonly<{ developerId: number; keyId: string }>

/** Who changes something: a developer, or an operator by the name of their account on the machine. */
export type Actor = Caller | Readonly<{ operator: string }>
