import { type AppSave, changeApps } from '../catalogue/app-store.ts'
import { isListed } from '../catalogue/policy.ts'
import type { QueryRunner } from '../db/engine.ts'
import type { AppRow } from '../db/rows.ts'
import { secondLineProblems } from './find-apps-of-lines.ts'
import { type ImportLine, problem, type WriteOptions } from './line.ts'

/** Hides the apps that the source has hidden. There, other apps may get their package names. */
export async function removeApps(
  runner: QueryRunner,
  lines: ImportLine[],
  { actor, onlyNew, firstLines }: WriteOptions,
): Promise<void> {
  const removals = lines.flatMap((line) => (line.removed ? [{ line, ...line.removed }] : []))
  if (removals.length === 0) return
  const ids = removals.map(({ id }) => id)
  const locked = await runner.sql('apps').whereIn('id', ids).orderBy('id').forUpdate().select()
  const found = new Map(locked.map((app) => [app.id, app]))
  const saves: AppSave[] = []
  for (const { line, id, created_at } of removals) {
    const app = found.get(id)
    line.outcome = 'unchanged'
    line.described = app?.created_at === created_at ? app : undefined
    if (onlyNew || !app) continue
    const second = secondLineProblems(line.described, firstLines)
    if (second.length > 0) line.outcome = second
    else if (isListed(app) && !line.described) line.outcome = [otherTimeProblem(id)]
    else if (isListed(app)) {
      saves.push(hide(app))
      line.outcome = 'updated'
    }
  }
  await changeApps(runner, 'app import', { saves }, actor)
}

/** With the time of the source, so that a line brings the app back if it is newer there. */
export const hide = (before: AppRow): AppSave => ({
  before,
  changes: {
    deleted_at: new Date().toISOString(),
    package_name: null,
    updated_at: before.updated_at,
  },
})

const otherTimeProblem = (id: number) =>
  problem(
    '/removed',
    `names app ${id}, which was created at another time`,
    'names an app that was created at another time',
  )
