/** Finds the other forms of English words by their endings, without a list of words. */

/** Words of other scripts, with digits or with accents have no English endings. */
const english = /^[a-z]{4,}$/

/** Shorter stems are words of their own too often. */
const minStem = 3

/** An ending -er is also one of other languages, as in danser, where dans is another word. */
const minStemOfEr = 5

/** The forms that a word may have besides itself. Many of them are no words, and no app has them. */
export function wordForms(word: string): string[] {
  if (!english.test(word)) return []
  const singulars = singularsOf(word)
  const stems = [word, ...singulars].flatMap(stemsOf)
  const isPlain = singulars.length === 0 && stems.length === 0
  const plainStem = word.replace(/e$/, '')
  if (isPlain) stems.push(plainStem)
  const forms = new Set([...singulars, ...stems.flatMap(formsOfStem)])
  forms.delete(word)
  // Forme is no form of form.
  if (isPlain) forms.delete(plainStem)
  return [...forms]
}

/** Compasses may be more than one compasse or compass, diaries more than one diary. */
function singularsOf(word: string): string[] {
  if (!/[^s]s$/.test(word)) return []
  const singulars = [word.slice(0, -1)]
  if (word.endsWith('ies')) singulars.push(`${word.slice(0, -3)}y`)
  else if (word.endsWith('es')) singulars.push(word.slice(0, -2))
  return singulars.filter(({ length }) => length >= minStem)
}

/** A word without -ing, -ed or -er, and without the consonant that was doubled before it. */
function stemsOf(word: string): string[] {
  const ending = /(?:ing|ed|er)$/.exec(word)?.[0]
  if (ending === undefined) return []
  const stem = word.slice(0, -ending.length)
  const isLong = stem.length >= (ending === 'er' ? minStemOfEr : minStem)
  if (!isLong || !/[aeiouy]/.test(stem)) return []
  return /([^aeiou])\1$/.test(stem) ? [stem, stem.slice(0, -1)] : [stem]
}

const formsOfStem = (stem: string) =>
  ['', 'e', 's', 'es', 'ing', 'ed', 'er', 'ers'].map((ending) => `${stem}${ending}`)
