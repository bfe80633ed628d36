import { readFileSync } from 'node:fs'

/** Prepared responses by path. Headers alternate names and values. */
export function readResponses(file = ''): Map<string, { headers: string[]; body: Buffer }> {
  const responses: Record<string, { headers: string[]; body: string }> = JSON.parse(
    readFileSync(file, 'utf8'),
  )
  return new Map(
    Object.entries(responses).map(([target, { headers, body }]) => [
      target,
      { headers, body: Buffer.from(body) },
    ]),
  )
}
