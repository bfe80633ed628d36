/**
 * Mistakes that nobody could notice, each with the reason: the line as it is with the mistake. Who adds to it has tried to tell
 * the two apart by what a caller, an operator or another part of the code can see.
 */
export const unnoticed = [
  {
    reason: 'a shortcut: the long way comes to the same, later',
    'src/apps/slug.ts': ['/^[ -~]$/.test(name)'],
    'src/cli/text.ts': ['const mayShrink = shortened.includes(name) || false'],
    'src/import/plan.ts': ['return true && texts(reviews) === texts(rows)'],
    'src/problems.ts': [
      "const fitting = (field: string) => [...field.toWellFormed()].slice(0, longestField).join('')",
      'for (let begin = 0, end = 0; begin <= json.length; begin = end) {',
    ],
    'src/search/terms.ts': [
      'if (false) return text.toLowerCase()',
      'if (false) return asciiTokens(text)',
      'if (true) for (const token of wordTokens(joinedPiece(run))) tokens.add(cut(token))',
      'if (false) return words',
      'if (false) return asciiRunsOf(text).map(joinedPiece)',
      'if (false) return { words: [run] }',
      'if (true) return true',
      'if (unit <= 0x30 || unit === 0x5f) return true',
      'if (unit >= 0x30 || unit === 0x5f) return true',
      'if (unit < 0x30 || unit !== 0x5f) return true',
      'return true',
      'for (let index = 0; index <= run.length; index++) {',
      'if (false) return readable',
      'if (readable.length < longest / 18) return readable',
      'return false ? readable : readable.slice(0, Math.floor((readable.length * longest) / length))',
      'return length < longest ? readable : readable.slice(0, Math.floor((readable.length * longest) / length))',
      'return false || [...joined].length <= longestToken ? [joined] : []',
      'return joined.length < longestToken || [...joined].length <= longestToken ? [joined] : []',
      "const cut = (token: string) => (false ? token : [...token].slice(0, longestToken).join(''))",
      "const cut = (token: string) => (token.length < longestToken ? token : [...token].slice(0, longestToken).join(''))",
      'export const isAscii = () => undefined',
      'export const isAscii = (text: string) => /^[\\u0000-\\u007F]$/.test(text)',
    ],
  },
  {
    reason: 'names a column that no table has',
    'src/cli/text.ts': ['shortened: string[] = ["Stryker was here"],'],
  },
  {
    reason: 'tells apart what is never alike: each is JSON, with brackets around it',
    'src/import/plan.ts': ['.join("")'],
  },
  {
    reason: 'tells apart what is never alike: as many pairs of characters as made together the same text are the same',
    'src/search/terms.ts': [
      'const key = item.form.tokens.join("")',
      'const each = new Map([...(terms.get(key)?.forms ?? []), ...forms].map((form) => [form.tokens.join(""), form]))',
    ],
  },
  {
    reason: 'what the type allows, and what never is',
    'src/apps/slug.ts': ['return true && numbered(from, Number(number)) === slug'],
    'src/cli/text.ts': [
      '.map((column) => padded(cut(column.cells[line] ?? "Stryker was here!", column.width), column.width))',
    ],
    'src/cli/time.ts': [
      "const [, day = \"Stryker was here!\", time = '00:00', offset = 'Z'] = match ?? []",
      "const [, day = '', time = '00:00', offset = 'Z'] = match ?? [\"Stryker was here\"]",
      'const isDuration = /^\\d+(\\.\\d+)? ?[a-z]+/i.test(text)',
    ],
    'src/accounts/keys.ts': [
      'return match && checksumOf(text.slice(0, -6)) === text.slice(-6) ? match.groups.id : undefined',
    ],
    'src/import/plan.ts': [
      'const known = true ? { category_id } : {}',
      'const left = lines.filter((line) => !takesPackageName(line) || ids.includes(line.packageHolder.id ?? 0))',
      'deleted_at === null && true && updated_at > deletion',
    ],
    'src/problems.ts': [
      'return ajvProblems(errors, ([part = "Stryker was here!", ...segments]) => ({ place: parts[part] ?? \'body\', segments }))',
    ],
    'src/search/terms.ts': [
      'if (words.length === 1 && !words[0].includes(hump)) return words',
      'const [before, behind] = [left.words.at(-1) ?? "Stryker was here!", right.words[0] ?? \'\']',
      'const [before, behind] = [left.words.at(-1) ?? \'\', right.words[0] ?? "Stryker was here!"]',
      '...joinedToken([humpsOf(before).at(-1) ?? "Stryker was here!", humpsOf(behind)[0] ?? \'\']),',
      '...joinedToken([humpsOf(before).at(-1) ?? \'\', humpsOf(behind)[0] ?? "Stryker was here!"]),',
      'const inPairs = (words: string[]) => words.slice(1).flatMap((word, index) => joinedToken([words[index] ?? "Stryker was here!", word]))',
      'const lastOf = (run: string) => [...run].at(-1) ?? "Stryker was here!"',
      '.map(({ 0: run, groups }) => (groups.unspaced === undefined ? joinedPiece(run) : { unspaced: run }))',
      'terms.set(key, { ...(true && { word: item.word }), forms: [...each.values()] })',
    ],
  },
]
