import { type AppSave, changeApps } from '../catalogue/app-store.ts'
import { isListed } from '../catalogue/policy.ts'
import type { QueryRunner } from '../db/engine.ts'
import { secondLineProblems } from './find-apps-of-lines.ts'
import { type ImportLine, problem, type WriteOptions } from './line.ts'

/** Hides the apps that the source has hidden. There, other apps may get their package names. */
export async function removeApps(
  runner: QueryRunner,
  lines: ImportLine[],
  { actor, onlyNew, now, firstLines }: WriteOptions,
): Promise<void> {
  const removals = lines.flatMap((line) => (line.removed ? [{ line, ...line.removed }] : []))
  if (removals.length === 0) return
  const ids = removals.map(({ id }) => id)
  const locked = await runner.sql('apps').whereIn('id', ids).orderBy('id').forUpdate().select()
  const found = new Map(locked.map((app) => [app.id, app]))
  const hidden = { deleted_at: now, package_name: null }
  const saves: AppSave[] = []
  for (const { line, id, created_at } of removals) {
    const app = found.get(id)
    line.outcome = 'unchanged'
    line.described = undefined
    if (onlyNew || !app) continue
    if (app.created_at === created_at) line.described = app
    const second = secondLineProblems(line.described, firstLines)
    if (second.length > 0) line.outcome = second
    else if (!line.described && isListed(app)) line.outcome = [otherTimeProblem(id)]
    if (line.outcome !== 'unchanged' || !isListed(app)) continue
    // With the time of the source, so that a line brings the app back if it is newer there.
    saves.push({ before: app, changes: { ...hidden, updated_at: app.updated_at } })
    line.outcome = 'updated'
  }
  await changeApps(runner, 'app import', { saves }, actor)
}

const otherTimeProblem = (id: number) =>
  problem(
    '/removed',
    `names app ${id}, which was created at another time`,
    'names an app that was created at another time',
  )
