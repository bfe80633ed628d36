import type { Actor } from '../audit/audit-store.ts'
import { changeApps } from '../catalogue/app-store.ts'
import { isListed } from '../catalogue/policy.ts'
import { OperatorError } from '../contract/errors.ts'
import type { QueryRunner } from '../db/engine.ts'
import { listedCondition } from '../db/listed-apps.ts'
import { pauseForOthers } from '../db/long-writes.ts'
import { chunk } from '../util/helpers.ts'
import { changedAppIds } from './export-catalogue.ts'
import type { LineWork } from './import-lines.ts'
import { type DescribedApp, identify } from './line.ts'
import { hide } from './remove-apps.ts'

/** Imports of whole exports into a mirror, which hide what such a file lacks. */

/** Throws an OperatorError if a key was ever issued, so that owners may have written here. */
export async function assertMirror({ sql }: QueryRunner): Promise<void> {
  const key =
    (await sql('api_keys').first('id')) ??
    // Of a key that was removed with its developer. Few entries are about no app.
    (await sql('audit').whereNull('app_id').where({ action: 'key issue' }).first('id'))
  if (key)
    throw new OperatorError(
      'keys were issued for this catalogue, so it is no mirror; leave out --mirror',
    )
}

/** Apps of a transaction, which reads their texts. */
const batchSize = 200

/**
 * The import also hides the listed apps that no line is about, unless the file may not be a whole
 * export, or lacks more of them than `limit`, by default half of them.
 */
export function mirrorLines(work: LineWork, actor: Actor, limit?: number): LineWork {
  /** Ids and slugs in refused lines. */
  const named = new Set<number | string | undefined>()
  let doubt: string | undefined
  return {
    ...work,
    onWritten({ number, raw, outcome, category, removed }) {
      if (removed) doubt ??= `line ${number} is a removal, so the file is no whole export`
      if (!Array.isArray(outcome) || category) return
      const { id, slug } = identify(raw, true)
      if (id === undefined && slug === undefined)
        doubt ??= `line ${number} is refused, and has no id or slug`
      named.add(id).add(slug)
    },
    async *finish(database, { lines, readError }, firstLines) {
      if (lines === 0) doubt = 'the input is empty'
      if (readError) doubt = 'the input ends too early'
      if (doubt !== undefined) throw new OperatorError(doubt)
      const { absent, listed } = await database.snapshot(async (runner) => {
        const found: number[] = []
        for await (const ids of changedAppIds(runner, '')) {
          const unnamed = ids.filter((id) => !firstLines.has(id) && !named.has(id))
          const apps = await runner
            .sql('apps')
            .whereIn('id', unnamed)
            .whereRaw(listedCondition)
            .select('id', 'slug')
          found.push(...apps.flatMap(({ id, slug }) => (named.has(slug) ? [] : id)))
        }
        const [total] = await runner.sql('categories').sum({ listed: 'listed_apps' })
        return { absent: found, listed: Number(total?.listed) }
      })
      if (absent.length > (limit ?? listed / 2))
        throw new OperatorError(
          `the file lacks ${absent.length} of ${listed} listed apps; if they are to go, add --hide ${absent.length}`,
        )
      const pause = pauseForOthers(database)
      for (const ids of chunk(absent, batchSize)) {
        yield* await database.write((runner) => hideApps(runner, ids, actor))
        await pause()
      }
    },
  }
}

async function hideApps(runner: QueryRunner, ids: number[], actor: Actor): Promise<DescribedApp[]> {
  const apps = await runner.sql('apps').whereIn('id', ids).orderBy('id').forUpdate().select()
  const listed = apps.filter(isListed)
  await changeApps(runner, 'app hide', { saves: listed.map((app) => hide(app)) }, actor)
  return listed
}
