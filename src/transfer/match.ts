import { isNumberedSlug, toSlug } from '../catalogue/slug.ts'
import type { Problem } from '../contract/contract.ts'
import type { AppRow } from '../db/tables.ts'
import { type ImportLine, isSet, type Line, problem } from './line.ts'

/** Finds the app that a line describes. Pure. */

export type ExistingApp = AppRow & { developer_name: string }

/** The line of an app beside the apps that exist. */
export type Match = {
  source: ImportLine
  line: Line
  /** The app that the line updates; without one, it creates an app. */
  app: ExistingApp | undefined
  /** Another app with the package name of the line. The line is accepted if that app gets a different one. */
  holder: ExistingApp | undefined
  /** The slug belongs to an app of another developer, so a new app gets another slug. */
  hasForeignSlug: boolean
  problems: Problem[]
}

export const isAccepted = ({ problems }: Match) => problems.length === 0

const ownerKey = (developer: string, value: string) => `${developer}\n${value}`

/** Whether only its owner and name identify the app of a line. */
export const isKnownByName = ({ package_name, slug }: Line) => !isSet(package_name) && slug === undefined

/** An export has id, slug and creation time. They identify an app even when its owner, name and package name have changed. */
const isSameApp = ({ id, slug, created_at }: Line, app: ExistingApp) =>
  app.id === id && app.slug === slug && app.created_at === created_at

/** Whether the slug of a line belongs to another developer's app, which the line does not describe. */
export const isForeignSlug = (line: Line, appWithSlug: ExistingApp | undefined) =>
  appWithSlug !== undefined && appWithSlug.developer_name !== line.developer_name && !isSameApp(line, appWithSlug)

/** Matches lines with apps. `apps` holds every app that has the package name or slug of a line, or its owner and its name or creation time. */
export function matchLines(lines: ImportLine[], apps: ExistingApp[]): Match[] {
  const byPackageName = new Map(apps.map((app) => [app.package_key, app]))
  const bySlug = new Map(apps.map((app) => [app.slug, app]))
  const byName = Map.groupBy(apps, (app) => ownerKey(app.developer_name, app.name))
  const byTime = Map.groupBy(apps, (app) => ownerKey(app.developer_name, app.created_at))

  /** The apps of a line whose slug and package name none of its owner's apps has. */
  function findByOwner(line: Line, foreignSlug: string | undefined): ExistingApp[] {
    const { developer_name, name, created_at } = line
    const namesakes = byName.get(ownerKey(developer_name, name)) ?? []
    if (foreignSlug !== undefined) {
      // An earlier import gave the app a number behind its slug. The creation time says more than the name, which may change.
      const all = created_at === undefined ? namesakes : (byTime.get(ownerKey(developer_name, created_at)) ?? [])
      return all.filter((app) => isNumberedSlug(app.slug, foreignSlug))
    }
    if (!isKnownByName(line)) return []
    const unpackaged = namesakes.filter(({ package_key }) => package_key === null)
    const kept = unpackaged.filter(({ deleted_at }) => deleted_at === null)
    return kept.length > 0 ? kept : unpackaged.slice(0, 1)
  }

  function matchLine(source: ImportLine, line: Line): Match {
    const { id, slug, created_at, package_name } = line
    const appWithSlug = slug === undefined ? undefined : bySlug.get(slug)
    const appWithPackageName = isSet(package_name) ? byPackageName.get(package_name.toLowerCase()) : undefined
    const hasForeignSlug = isForeignSlug(line, appWithSlug)
    const ownAppWithSlug = hasForeignSlug ? undefined : appWithSlug
    // The line of an export names its app, or a new one, so its package name only says what that app gets.
    const isNamed = id !== undefined && created_at !== undefined && slug !== undefined && !hasForeignSlug
    const holder = isNamed && appWithPackageName?.slug !== slug ? appWithPackageName : undefined
    const known = holder ? ownAppWithSlug : (appWithPackageName ?? ownAppWithSlug)
    const [app, ...others] = known ? [known] : findByOwner(line, hasForeignSlug ? slug : undefined)
    const problems =
      others.length > 0
        ? [problem('/name', 'belongs to several apps of this owner: say which by slug or package_name')]
        : findContradictions(line, app, hasForeignSlug)
    return { source, line, app, holder, hasForeignSlug, problems }
  }

  return lines.flatMap((source) => (source.app ? matchLine(source, source.app) : []))
}

/** How the line contradicts the app that it describes. */
function findContradictions(line: Line, app: ExistingApp | undefined, hasForeignSlug: boolean): Problem[] {
  if (!app) return []
  const problems = []
  if (line.slug !== undefined && line.slug !== app.slug && !hasForeignSlug) {
    problems.push(problem('/slug', `is ${app.slug} for this app, and does not change`))
  }
  if (isSet(line.package_name) && !hasPackageName(app, line.package_name) && !isSameApp(line, app)) {
    problems.push(problem('/slug', `belongs to an app with the package name ${app.package_name}`))
  }
  if (app.deleted_at !== null && !isSet(line.deleted_at) && !isRestored(line, app.updated_at)) {
    problems.push(problem('', `describes app ${app.id}, which was deleted; app restore ${app.id} brings it back`))
  }
  return problems
}

/** Whether the app has that package name, or none. */
const hasPackageName = ({ package_key }: ExistingApp, name: string | null) =>
  package_key === null || package_key === name?.toLowerCase()

/** A line that is newer than the deletion, and says that the app is not deleted, describes an app that was restored. */
const isRestored = ({ deleted_at, updated_at }: Line, deletion: string) =>
  deleted_at === null && updated_at !== undefined && updated_at > deletion

/** Splits off the lines that update the same app as a line before them. */
export function splitRepeats(matches: Match[]): { first: Match[]; repeated: Match[] } {
  const groups = [...Map.groupBy(matches, ({ app, source }) => app?.id ?? source).values()]
  return { first: groups.flatMap((group) => group.slice(0, 1)), repeated: groups.flatMap((group) => group.slice(1)) }
}

/** What identifies the app of a line. Two lines of one batch must not share a key: the second has to find what the first wrote. */
export function claimedKeys({ package_name, slug, developer_name, name }: Line): string[] {
  const keys = []
  if (isSet(package_name)) keys.push(`package ${package_name.toLowerCase()}`)
  if (slug !== undefined) keys.push(`slug ${slug}`)
  // The app will have the slug that is made of its name.
  return keys.length > 0 ? keys : [`name ${ownerKey(developer_name, name)}`, `slug ${toSlug(name)}`]
}

/** Refuses lines with the package name of an app that keeps it. Apps may exchange their names. */
export function refuseTakenNames(matches: Match[]) {
  for (;;) {
    const accepted = matches.filter(isAccepted)
    const freed = new Set(accepted.filter(freesPackageName).map(({ app }) => app?.id))
    const refused = accepted.filter(({ holder }) => holder && !freed.has(holder.id))
    if (refused.length === 0) return
    // Again, because the apps of refused lines keep their names, too.
    for (const match of refused) {
      match.problems = [problem('/package_name', `belongs to app ${match.holder?.id}, ${match.holder?.slug}`)]
    }
  }
}

const freesPackageName = ({ line: { package_name }, app }: Match) =>
  app !== undefined && package_name !== undefined && !hasPackageName(app, package_name)
