import { expect, inject, test } from 'vitest'
import { newApp } from '../contract/valid-requests.ts'
import { titleOf, valuesOf } from '../support/html.ts'
import { type Fields, type Moderator, startModerationPage } from '../support/moderation-page.ts'
import { startService } from '../support/service.ts'

/**
 * An owner who changes an app between a moderator's view and click must not get the new text
 * approved. Owner and moderators act at the same time; MODERATION_SWAPS sets how often.
 */

const rounds = Number(process.env.MODERATION_SWAPS ?? 30)

type Texts = { name: string; description: string }

const descriptionIn = (part: string) =>
  /<p class="(?:text|beginning)" dir="auto">(.*?)<\/p>/.exec(part)?.[1] ?? ''

/** The texts that a moderator sees on the page of an app. */
const shownOn = (page: string): Texts => ({
  name: titleOf(page).replace(' – Moderation', ''),
  description: descriptionIn(page),
})

/** The app in a queue: the texts that a moderator sees, and its form. Undefined if it is not there. */
function shownIn(queue: string, id: number) {
  const rows = queue.split('<li class="card">').slice(1)
  const row = rows.find((one) => valuesOf(one, 'app').some((app) => app.startsWith(`${id}@`)))
  if (row === undefined) return undefined
  const name = /<h2><a [^>]*><bdi>(.*?)<\/bdi>/.exec(row)?.[1] ?? ''
  return { texts: { name, description: descriptionIn(row) }, app: valuesOf(row, 'app') }
}

test(`in ${rounds} rounds of changes during decisions, nobody approves what was not shown`, async () => {
  const service = await startService({ limits: { writeLimit: 0 } })
  const page = await startModerationPage({ databaseUrl: service.databaseUrl })
  const moderators = [await page.signIn('Ada'), await page.signIn('Bo')]
  const { keys } = inject('world')
  const seed = Number(process.env.MODERATION_SEED ?? Date.now() % 2 ** 31)
  const random = randomsFrom(seed)
  const outcomes = { approved: 0, changedAfter: 0, refused: 0 }

  async function swap(round: number) {
    const request = (method: string, path: string, json: object) =>
      service.request(method, path, { key: keys.ada, json })
    const first = { name: `Round ${round}`, description: 'Shown.' }
    const { body } = await request('POST', '/apps', { ...newApp, ...first })
    const path = `/apps/${body.data.app_id}`
    const change = async (json: Texts) => {
      expect((await request('PUT', path, json)).status).toBe(200)
    }

    /** What each moderator was shown last. */
    const shownTo = new Map<string, Texts>()
    const view = async (moderator: Moderator) => {
      const queue = shownIn((await moderator.get('/')).text, body.data.app_id)
      // Approved meanwhile, it is not in the queue.
      if (queue && random(2) === 0) {
        shownTo.set(moderator.id, queue.texts)
        return { app: queue.app, decision: 'approve' }
      }
      const { text } = await moderator.get(path)
      shownTo.set(moderator.id, shownOn(text))
      return { app: valuesOf(text, 'app'), decision: 'approve', seen: valuesOf(text, 'seen') }
    }
    const click = async (moderator: Moderator, form: Fields) => {
      expect([303, 409]).toContain((await moderator.post('/decisions', form)).status)
    }
    const forms = []
    for (const moderator of moderators) {
      if (random(3) === 0) await change({ name: first.name, description: `Edited ${random(9)}.` })
      forms.push({ moderator, form: await view(moderator) })
    }
    const actions = [
      ...forms.map(
        ({ moderator, form }) =>
          () =>
            click(moderator, form),
      ),
      () => change({ name: `Round ${round}, second`, description: 'A casino.' }),
      () => change({ name: `Round ${round}, third`, description: 'Malware.' }),
    ]
    const inOrder = actions
      .map((action) => ({ action, at: random(1000) }))
      .toSorted((a, b) => a.at - b.at)
    await Promise.all(
      inOrder.map(async ({ action, at }) => {
        await pause(at / 20)
        await action()
      }),
    )

    // The texts at each approval are those of the entries before it.
    const entries = await page.database.read(({ sql }) =>
      sql('audit')
        .where({ app_id: body.data.app_id })
        .orderBy('id')
        .select('action', 'after', 'operator_id'),
    )
    const texts: Texts = { name: '', description: '' }
    for (const { action, after, operator_id } of entries) {
      const { name = texts.name, description = texts.description } = JSON.parse(after)
      Object.assign(texts, { name, description })
      if (action !== 'app approve') continue
      expect(texts, `MODERATION_SEED=${seed}`).toEqual(shownTo.get(operator_id ?? ''))
      outcomes.approved++
      outcomes.changedAfter += Number(entries.at(-1)?.action !== 'app approve')
    }
    const app = await page.database.read(({ sql }) =>
      sql('apps').where({ id: body.data.app_id }).first(),
    )
    if (app?.status === 'pending') outcomes.refused++
    // What the owner wrote after the approval waits for a review.
    else expect(app?.unreviewed_since === null).toBe(entries.at(-1)?.action === 'app approve')
    // So that the queue stays short.
    expect((await service.request('DELETE', path, { key: keys.ada })).status).toBe(200)
  }

  for (let round = 0; round < rounds; round++) await swap(round)
  // Both happen, or the test tests nothing.
  if (rounds >= 30) expect(Math.min(outcomes.approved, outcomes.refused)).toBeGreaterThan(0)
  if (rounds > 30) console.log(JSON.stringify({ rounds, seed, ...outcomes }))
})

/** Lets other requests go first, that many times. */
async function pause(turns: number) {
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
}

/** Whole numbers below a bound, always the same ones for a seed. */
function randomsFrom(seed: number): (bound: number) => number {
  let state = seed
  return (bound) => {
    // A linear congruential generator; its high bits are random enough.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}
