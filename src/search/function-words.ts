/**
 * Words that do not say what is searched for: those of a language's grammar and of requests, as
 * `fold` leaves them. Another language would need another list.
 */
const lists = {
  english: `
    a all an any anyone anything no not some someone something that the these this those
    he her him his i it its me mine my our she their them they us we you your
    am are be been can could did do does had has have is may might must shall should was were will
    would about and as at but by for from if in into of on onto or so than then to with without
    here how there what when where which who whose why
    best find get give good help just like need please show tell use using want
  `,
}

const words = new Set(Object.values(lists).flatMap((list) => list.trim().split(/\s+/)))

export const isFunctionWord = (word: string) => words.has(word)
