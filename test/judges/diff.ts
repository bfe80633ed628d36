import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Document } from 'openapi-backend'
import { diff as bumpBetween, gt, inc } from 'semver'
import { type Bump, bumps, changesBetween } from './changes.ts'

/**
 * Compares the document in the current directory with that of the last release, the newest tag v* before HEAD. Fails if
 * the bump of info.version is too small for the changes, or if CHANGELOG.md has no section for it. Skips the comparison
 * in a checkout without tags.
 */

const file = 'generated/openapi.json'

/** The reason for a failure, in one line. */
class Refusal extends Error {}

async function compare() {
  const document = parse(readFileSync(file, 'utf8'))
  const { version } = document.info
  assertSection(version)
  const tag = lastRelease()
  if (tag === undefined) return console.log(`Skipped: ${explainMissingRelease()} info.version is ${version}.`)

  const released = parse(fileAt(tag))
  const before = released.info.version
  if (tag !== `v${before}`) throw new Refusal(`The tag ${tag} is on a document whose info.version is ${before}.`)
  const changes = await changesBetween(released, document)
  for (const { bump, text } of changes) console.log(`${bump}  ${text}`)
  const needed = changes[0]?.bump ?? 'none'
  const made = actualBump(before, version)
  const verdict = `Since ${tag}: needed is ${named[needed]}, made is ${named[made]} (${before} → ${version}).`
  if (needed === 'none' ? version !== before : bumps.indexOf(made) < bumps.indexOf(needed)) {
    throw new Refusal(
      `${verdict} info.version must be ${needed === 'none' ? before : `${inc(before, needed)} or higher`}.`,
    )
  }
  console.log(verdict)
}

const named: Record<Bump, string> = { none: 'no bump', patch: 'a patch', minor: 'a minor bump', major: 'a major bump' }

const parse = (text: string): Document => JSON.parse(text)

function actualBump(before: string, after: string): Bump {
  const bump = gt(after, before) ? bumpBetween(before, after) : 'none'
  return bumps.find((one) => one === bump) ?? 'none'
}

/** https://keepachangelog.com/en/1.1.0/; an unreleased version has no date. */
function assertSection(version: string) {
  const prefix = `## [${version}] - `
  const heading = readFileSync('CHANGELOG.md', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(prefix))
  if (heading !== undefined && /^(\d{4}-\d\d-\d\d|Unreleased)$/.test(heading.slice(prefix.length))) return
  throw new Refusal(`CHANGELOG.md has no section "${prefix}DATE" or "${prefix}Unreleased".`)
}

const lastRelease = () => git('describe', '--tags', '--match', 'v[0-9]*', '--abbrev=0')

/** Why there is no release to compare with. */
function explainMissingRelease(): string {
  if (git('rev-parse', '--git-dir') === undefined) return 'there is no git repository here.'
  const isShallow = git('rev-parse', '--is-shallow-repository') === 'true'
  const advice = isShallow ? ' This clone is shallow; for those there are: git fetch --unshallow --tags.' : ''
  return `there is no tag of a release behind this commit.${advice}`
}

function fileAt(tag: string): string {
  const text = git('show', `${tag}:${file}`)
  if (text === undefined) throw new Refusal(`${tag} has no ${file}.`)
  return text
}

/** The output of git; undefined if it fails. */
function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, {
      encoding: 'utf8',
      maxBuffer: 2 ** 27,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return undefined
  }
}

try {
  await compare()
} catch (error) {
  if (!(error instanceof Refusal)) throw error
  console.error(error.message)
  process.exitCode = 1
}
