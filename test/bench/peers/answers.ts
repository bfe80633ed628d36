import { readFileSync } from 'node:fs'

/** Answers that were given before, by their addresses. Headers are a flat list of names and values. */
export function readAnswers(file = ''): Map<string, { headers: string[]; body: Buffer }> {
  const answers: Record<string, { headers: string[]; body: string }> = JSON.parse(readFileSync(file, 'utf8'))
  return new Map(
    Object.entries(answers).map(([target, { headers, body }]) => [target, { headers, body: Buffer.from(body) }]),
  )
}
