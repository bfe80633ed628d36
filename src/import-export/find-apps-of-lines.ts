import type { NamedAppRow } from '../catalogue/app-store.ts'
import { toSlug } from '../catalogue/slugs.ts'
import { formatCommand } from '../util/command.ts'
import { pick } from '../util/helpers.ts'
import {
  type DescribedApp,
  type FirstLines,
  type ImportLine,
  isRefusing,
  isSet,
  type Line,
  markLeftOut,
  orderProblems,
  type ParsedLine,
  problem,
  withoutFields,
} from './line.ts'
import type { LineProblem } from './reason-counts.ts'

/**
 * Finds the app that a line describes. docs/moving-data.md has the rules. Pure.
 */

/** `last_action` is that of the last audit entry of a deleted app. */
export type ExistingApp = NamedAppRow & { last_action?: string | null }

/** The line of an app, compared with the existing apps. */
export type Match = {
  source: ImportLine
  /** Without times that contradict those of the app. */
  line: Line
  /** The app that the line updates; without one, it creates an app. */
  app: NamedAppRow | undefined
  /** Another app that has the package name of the line, unless an earlier line gives it up. */
  holder: NamedAppRow | undefined
  problems: LineProblem[]
}

export const isAccepted = ({ problems }: Match): boolean => problems.length === 0

const ownerKey = (developer: string, value: string) => `${developer}\n${value}`

/** Whether only its owner and name identify the app of a line. */
export const isKnownByName = ({ package_name, slug }: Line): boolean =>
  !isSet(package_name) && slug === undefined

/**
 * An export has id, slug and creation time. They identify an app even when its owner, name and
 * package name have changed.
 */
const isSameApp = ({ id, slug, created_at }: Line, app: NamedAppRow) =>
  app.id === id && app.slug === slug && app.created_at === created_at

/**
 * Whether a line without a package name comes from the export of another catalogue and has the same
 * developer and slug by chance. An import may assign another id, but keeps the line's creation
 * time.
 */
const isNamesake = ({ id, created_at, package_name }: Line, app: NamedAppRow) =>
  id !== undefined &&
  created_at !== undefined &&
  created_at !== app.created_at &&
  app.package_key !== null &&
  !isSet(package_name)

/**
 * Matches lines with apps. `apps` holds every app that has the package name or slug of a line, or
 * its owner and name.
 */
export function matchLines(lines: ImportLine[], apps: ExistingApp[]): Match[] {
  const byPackageName = new Map(apps.map((app) => [app.package_key, app]))
  const bySlug = new Map(apps.map((app) => [app.slug, app]))
  const byName = Map.groupBy(apps, (app) => ownerKey(app.developer_name, app.name))

  function findByName(line: Line): NamedAppRow[] {
    if (!isKnownByName(line)) return []
    const namesakes = byName.get(ownerKey(line.developer_name, line.name)) ?? []
    const unpackaged = namesakes.filter(({ package_key }) => package_key === null)
    const kept = unpackaged.filter(({ deleted_at }) => deleted_at === null)
    return kept.length > 0 ? kept : unpackaged.slice(0, 1)
  }

  function matchLine(source: ImportLine, line: Line): Match {
    const { id, slug, created_at, package_name } = line
    const appWithSlug = slug === undefined ? undefined : bySlug.get(slug)
    const appWithPackageName = isSet(package_name)
      ? byPackageName.get(package_name.toLowerCase())
      : undefined
    // The line of an export identifies its app by other fields, so its package name is only a value
    // to set.
    const isNamed = id !== undefined && created_at !== undefined && slug !== undefined
    const holder = isNamed && appWithPackageName?.slug !== slug ? appWithPackageName : undefined
    const known = holder ? appWithSlug : (appWithPackageName ?? appWithSlug)
    const [app, ...others] = known ? [known] : findByName(line)
    const problems =
      others.length > 0
        ? [
            problem(
              '/name',
              'belongs to several apps of this owner: identify the app by slug or package_name',
            ),
          ]
        : findContradictions(line, app)
    source.contradictions = problems.filter(({ left_out }) => left_out)
    return {
      source,
      line: withoutFields(line, source.contradictions),
      app,
      holder,
      problems: problems.filter(isRefusing),
    }
  }

  return lines.flatMap((source) => (source.app ? matchLine(source, source.app) : []))
}

/** The contradictions between a line and the app that it describes. */
function findContradictions(line: Line, app: ExistingApp | undefined): LineProblem[] {
  if (!app) return []
  const isFoundByPackageName =
    isSet(line.package_name) && app.package_key === line.package_name.toLowerCase()
  if (
    app.developer_name !== line.developer_name &&
    !isFoundByPackageName &&
    !isSameApp(line, app)
  ) {
    const to = `'${line.developer_name.replaceAll("'", "'\\''")}'`
    const transfer = formatCommand(`app transfer ${app.id} --to ${to}`)
    const message = `belongs to app ${app.id} of ${app.developer_name}: if that app is meant, run ${transfer} first; if not, leave the slug out to get another`
    return [problem('/slug', message, 'belongs to an app of another developer')]
  }
  if (isNamesake(line, app)) {
    const other = `app ${app.id}, which was created at another time and has the package name ${app.package_name}`
    const advice = `leave it out to get another, or give that package name to update app ${app.id}`
    return [
      problem(
        '/slug',
        `belongs to ${other}: ${advice}`,
        'belongs to an app with another creation time and package name',
      ),
    ]
  }
  // A line without updated_at gets a new one.
  const problems = markLeftOut(orderProblems(line, pick(app, 'created_at', 'approved_at')), line)
  if (line.slug !== undefined && line.slug !== app.slug) {
    problems.push(
      problem(
        '/slug',
        `of this app is ${app.slug} and cannot change`,
        'is not the slug of the app',
      ),
    )
  }
  if (
    isSet(line.package_name) &&
    !hasPackageName(app, line.package_name) &&
    !isSameApp(line, app)
  ) {
    const message = `belongs to an app with the package name ${app.package_name}`
    problems.push(problem('/slug', message, 'belongs to an app with another package name'))
  }
  if (staysDeleted({ line, app })) {
    const message = `describes app ${app.id}, which was deleted; restore it with: ${formatCommand(`app restore ${app.id}`)}`
    problems.push(problem('', message, 'describes a deleted app'))
  }
  return problems
}

/** Whether the app has that package name, or none. */
const hasPackageName = ({ package_key }: NamedAppRow, name: string | null) =>
  package_key === null || package_key === name?.toLowerCase()

/** Whether the app of the line is deleted, and the line neither says so nor restores it. */
export const staysDeleted = ({ line, app }: Pick<Match, 'line' | 'app'>): boolean =>
  app !== undefined && app.deleted_at !== null && !isSet(line.deleted_at) && !isRestored(line, app)

/**
 * A line that says that the app is not deleted describes an app that was restored if it is newer
 * than the deletion, or if the app was only hidden because a file lacked it.
 */
const isRestored = ({ deleted_at, updated_at }: Line, app: ExistingApp) =>
  deleted_at === null &&
  (app.last_action === 'app hide' || (updated_at !== undefined && updated_at > app.updated_at))

/** Without those that find the app of a match before them. */
export function firstOfEachApp(matches: Match[]): Match[] {
  const ids = new Set<number>()
  return matches.filter(({ app }) => !app || (!ids.has(app.id) && ids.add(app.id)))
}

/**
 * Refuses the lines whose app an earlier line of the file describes. `firstLines` has the number of
 * that line, by app.
 */
export function refuseSecondLines(matches: Match[], firstLines: FirstLines): void {
  for (const match of matches.filter(isAccepted)) {
    match.problems = secondLineProblems(match.app, firstLines)
    match.source.described = match.app
  }
}

/**
 * The keys by which a line finds its app, and those by which a later line may find it. No line of a
 * batch may find the app of another line: it must read that line's result.
 */
export function batchKeys({ app, removed }: ParsedLine): { finds: string[]; claims: string[] } {
  const { id } = app ?? removed ?? {}
  const finds = id === undefined ? [] : [`id ${id}`]
  if (!app) return { finds, claims: finds }
  const { package_name, slug, developer_name, name } = app
  const nameKey = `name ${ownerKey(developer_name, name)}`
  if (isSet(package_name)) finds.push(`package ${package_name.toLowerCase()}`)
  if (slug !== undefined) finds.push(`slug ${slug}`)
  if (isKnownByName(app)) finds.push(nameKey)
  // A new app gets the slug of its name if that is free.
  const claims = [...finds, `slug ${slug ?? toSlug(name)}`]
  // A later line that is known by its name finds the app even if this line has a slug.
  if (!isSet(package_name)) claims.push(nameKey)
  return { finds, claims }
}

/**
 * Refuses lines with the package name of an app, unless an earlier one of the lines gives it up.
 * They are in the order of the file.
 */
export function refuseTakenNames(matches: Match[]): void {
  const freed = new Set<number>()
  for (const match of matches.filter(isAccepted)) {
    const { line, app, holder } = match
    if (holder && !freed.has(holder.id)) match.problems = [takenNameProblem(holder)]
    else if (app && line.package_name !== undefined && !hasPackageName(app, line.package_name))
      freed.add(app.id)
  }
}

/** Why a line cannot be about the app: an earlier line is. */
export function secondLineProblems(
  app: DescribedApp | undefined,
  firstLines: FirstLines,
): LineProblem[] {
  const first = app && firstLines.get(app.id)
  if (!app || first === undefined) return []
  const message = `is about app ${app.id}, ${app.slug}, as line ${first} is: keep one of the two`
  return [problem('', message, 'is about the app of an earlier line')]
}

const takenNameProblem = ({ id, slug }: NamedAppRow) =>
  problem(
    '/package_name',
    `belongs to app ${id}, ${slug}; if this file gives that app another one, import the refused lines first with "package_name": null, then as they are`,
    'belongs to another app',
  )
