import { existsSync, readFileSync } from 'node:fs'
import type { Document } from 'openapi-backend'
import { diff as bumpBetween, gt, inc } from 'semver'
import { type Bump, bumps, changesBetween } from './changes.ts'

/**
 * Compares the document in the current directory with that of the last release. Fails if the bump
 * of info.version is too small for the changes, or if CHANGELOG.md has no section for it.
 */

const file = 'generated/openapi.json'
/** A copy of the document, which each release replaces. */
const releasedFile = 'generated/released.json'

/** The reason for a failure, in one line. */
class Refusal extends Error {}

async function compare() {
  const document = parse(file)
  const released = readReleased()
  const { version } = document.info
  const before = released.info.version
  assertChangelog(version, before)
  const changes = await changesBetween(released, document)
  for (const { bump, text } of changes) console.log(`${bump}  ${text}`)
  const needed = changes[0]?.bump ?? 'none'
  const made = actualBump(before, version)
  const verdict = `Since ${before}: needed is ${named[needed]}, made is ${named[made]} (${before} → ${version}).`
  if (needed === 'none' ? version !== before : bumps.indexOf(made) < bumps.indexOf(needed)) {
    throw new Refusal(
      `${verdict} info.version must be ${needed === 'none' ? before : `${inc(before, needed)} or higher`}.`,
    )
  }
  console.log(verdict)
}

const named: Record<Bump, string> = {
  none: 'no bump',
  patch: 'a patch',
  minor: 'a minor bump',
  major: 'a major bump',
}

const parse = (path: string): Document => JSON.parse(readFileSync(path, 'utf8'))

function readReleased(): Document {
  if (existsSync(releasedFile)) return parse(releasedFile)
  throw new Refusal(
    `${releasedFile} is missing. It is committed; restore it: git checkout HEAD -- ${releasedFile}`,
  )
}

function actualBump(before: string, after: string): Bump {
  const bump = gt(after, before) ? bumpBetween(before, after) : 'none'
  return bumps.find((one) => one === bump) ?? 'none'
}

/**
 * https://keepachangelog.com/en/1.1.0/, newest version first; an unreleased version has no date.
 */
const heading = /^## \[(.+)\] - (Unreleased|\d{4}-\d\d-\d\d)$/gm

/**
 * The changelog has a section for the version, and its last release is that of the released
 * document.
 */
function assertChangelog(version: string, before: string) {
  const sections = [...readFileSync('CHANGELOG.md', 'utf8').matchAll(heading)]
  if (!sections.some(([, one]) => one === version)) {
    throw new Refusal(
      `CHANGELOG.md has no section "## [${version}] - DATE" or "## [${version}] - Unreleased".`,
    )
  }
  const last = sections.find(([, , date]) => date !== 'Unreleased')?.[1]
  if (last !== before) {
    throw new Refusal(
      `${releasedFile} is of ${before}, but the last release in CHANGELOG.md is ${last}. Copy the document of ${last} to it.`,
    )
  }
}

try {
  await compare()
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  console.error(error.message)
  process.exitCode = 1
}
