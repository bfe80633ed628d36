import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Document } from 'openapi-backend'
import { diff as bumpBetween, gt, inc } from 'semver'
import { type Bump, bumps, changesBetween, methods } from './changes.ts'

/** `make diff` compares the document with that of the last release. */

const file = 'generated/openapi.json'
/** A copy of the document, which each release replaces. */
const releasedFile = 'generated/released.json'

/** What callers meet, by version. */
const changesFile = 'docs/api-changes.md'

/** The reason for a failure, in one line. */
export class Refusal extends Error {}

/**
 * Prints the changes of the document in a directory since the last release. Throws if the bump of
 * info.version is too small for them, or if docs/api-changes.md has no section for it.
 */
export async function compare(folder: string, print: (line: string) => void) {
  const document = parse(join(folder, file))
  const released = readReleased(folder)
  const { version } = document.info
  const before = released.info.version
  const section = findSection(readFileSync(join(folder, changesFile), 'utf8'), version, before)
  for (const request of requestsOf(document).difference(requestsOf(released))) {
    if (!section.includes(request))
      throw new Refusal(`${changesFile} does not name the new ${request} below ${version}.`)
  }
  const changes = await changesBetween(released, document)
  for (const { bump, text } of changes) print(`${bump}  ${text}`)
  const needed = changes[0]?.bump ?? 'none'
  const made = actualBump(before, version)
  const verdict = `Since ${before}: needed is ${named[needed]}, made is ${named[made]} (${before} → ${version}).`
  if (needed === 'none' ? version !== before : bumps.indexOf(made) < bumps.indexOf(needed)) {
    throw new Refusal(
      `${verdict} info.version must be ${needed === 'none' ? before : `${inc(before, needed)} or higher`}.`,
    )
  }
  print(verdict)
}

const named: Record<Bump, string> = {
  none: 'no bump',
  patch: 'a patch',
  minor: 'a minor bump',
  major: 'a major bump',
}

const parse = (path: string): Document => JSON.parse(readFileSync(path, 'utf8'))

function readReleased(folder: string): Document {
  if (existsSync(join(folder, releasedFile))) return parse(join(folder, releasedFile))
  throw new Refusal(
    `${releasedFile} is missing. It is committed; restore it: git checkout HEAD -- ${releasedFile}`,
  )
}

/** Its operations, such as `GET /apps/{id}`. */
const requestsOf = ({ paths = {} }: Document) =>
  new Set(
    Object.entries(paths).flatMap(([path, item]) =>
      methods
        .filter((method) => method in (item ?? {}))
        .map((method) => `${method.toUpperCase()} ${path}`),
    ),
  )

function actualBump(before: string, after: string): Bump {
  const bump = gt(after, before) ? bumpBetween(before, after) : 'none'
  return bumps.find((one) => one === bump) ?? 'none'
}

/**
 * https://keepachangelog.com/en/1.1.0/, newest version first; an unreleased version has no date.
 */
const heading = /^## \[(.+)\] - (Unreleased|\d{4}-\d\d-\d\d)$/gm

/**
 * The section of the version. Throws if there is none, or if the last release is not that of the
 * released document.
 */
function findSection(changelog: string, version: string, before: string): string {
  const sections = [...changelog.matchAll(heading)]
  const index = sections.findIndex(([, one]) => one === version)
  if (index === -1) {
    throw new Refusal(
      `${changesFile} has no section "## [${version}] - DATE" or "## [${version}] - Unreleased".`,
    )
  }
  const last = sections.find(([, , date]) => date !== 'Unreleased')?.[1]
  if (last !== before) {
    throw new Refusal(
      `${releasedFile} is of ${before}, but the last release in ${changesFile} is ${last}. Copy the document of ${last} to it.`,
    )
  }
  return changelog.slice(sections[index]?.index, sections[index + 1]?.index)
}

if (import.meta.main) {
  try {
    await compare('.', console.log)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}
