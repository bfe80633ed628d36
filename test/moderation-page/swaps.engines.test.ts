import { expect, inject, test } from 'vitest'
import { newApp } from '../contract/valid-requests.ts'
import { expectStatuses } from '../support/check.ts'
import { holdWrite } from '../support/held-write.ts'
import { titleOf, valuesOf } from '../support/html.ts'
import { type Moderator, startWithService, stateOf } from '../support/moderation-page.ts'
import { randomFrom, seed } from '../support/random.ts'
import type { Service } from '../support/service.ts'

/**
 * An owner who changes an app between a moderator's view and click must not get the new text
 * approved. MODERATION_SWAPS=1000 makes more random rounds.
 */

const { apps, keys } = inject('world')
const rounds = Number(process.env.MODERATION_SWAPS ?? 5)

type Texts = { name: string; description: string }

const descriptionIn = (part: string) =>
  /<p class="(?:text|beginning)" dir="auto">(.*?)<\/p>/.exec(part)?.[1] ?? ''

/** What a moderator sees of an app, and the form that approves it. */
type Shown = { texts: Texts; form: { app: string[]; seen?: string[]; decision: string } }

async function openApp(moderator: Moderator, id: number): Promise<Shown> {
  const { text } = await moderator.get(`/apps/${id}`)
  return {
    texts: { name: titleOf(text).replace(' – Moderation', ''), description: descriptionIn(text) },
    form: { app: valuesOf(text, 'app'), seen: valuesOf(text, 'seen'), decision: 'approve' },
  }
}

/** Undefined if the app is not in the queue. */
async function findInQueue(moderator: Moderator, id: number): Promise<Shown | undefined> {
  const cards = (await moderator.get('/')).text.split('<li class="card">').slice(1)
  const card = cards.find((one) => valuesOf(one, 'app').some((app) => app.startsWith(`${id}@`)))
  if (card === undefined) return undefined
  const name = /<h2><a [^>]*><bdi>(.*?)<\/bdi>/.exec(card)?.[1] ?? ''
  return {
    texts: { name, description: descriptionIn(card) },
    form: { app: valuesOf(card, 'app'), decision: 'approve' },
  }
}

const change = async (service: Service, id: number, texts: Texts) => {
  const { status } = await service.request('PUT', `/apps/${id}`, { key: keys.ada, json: texts })
  expect(status).toBe(200)
}

const casino = { name: 'Casino', description: 'A casino.' }

test.for([
  { what: 'on its page', show: openApp },
  { what: 'in the queue', show: findInQueue },
])('a change before the click is not approved by what was seen $what', async ({ show }) => {
  const { service, page, ada } = await startWithService()
  const shown = await show(ada, apps.pending)
  await change(service, apps.pending, casino)
  expect((await ada.post('/decisions', { ...shown?.form })).status).toBe(409)
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending' })
})

test('a change after the click waits for another decision', async () => {
  const { service, page, ada } = await startWithService()
  const { form } = await openApp(ada, apps.pending)
  expect((await ada.post('/decisions', form)).status).toBe(303)
  await change(service, apps.pending, casino)
  const waiting = await page.database.read(({ sql }) =>
    sql('apps').where({ id: apps.pending }).first('status', 'unreviewed_changes'),
  )
  expect(waiting?.status).toBe('approved')
  expect(JSON.parse(waiting?.unreviewed_changes ?? '{}')).toHaveProperty('name', 'Cloud Atlas')
})

test('a click that waits for a change to be stored is refused', async () => {
  const { service, page, ada } = await startWithService()
  const { form } = await openApp(ada, apps.pending)
  const release = await holdWrite(service.database, ({ sql }) =>
    sql('apps').where({ id: apps.pending }).update({ name: 'Casino', revision: 'other' }),
  )
  // On SQLite it waits for the only writer; with Citus, the lock is on a worker.
  const isLockHere = inject('engine') === 'postgres' && inject('workers').length === 0
  const isClickWaiting = () =>
    isLockHere
      ? page.database.read(async ({ sql }) => {
          const [row] = await sql('pg_locks').where({ granted: false }).count({ count: '*' })
          return Number(row?.count) > 0
        })
      : page.database.usage().pools[1]?.used === 1
  const click = ada.post('/decisions', form)
  await expect.poll(isClickWaiting).toBe(true)
  await release()
  expect((await click).status).toBe(409)
  expect(await stateOf(page, apps.pending)).toMatchObject({ status: 'pending', name: 'Casino' })
})

test('of two moderators who click at the same time, one decides', async () => {
  const { page, ada } = await startWithService()
  const bo = await page.signIn('Bo')
  const { form } = await openApp(ada, apps.pending)
  const both = await Promise.all([ada.post('/decisions', form), bo.post('/decisions', form)])
  expectStatuses(
    both.toSorted((one, other) => one.status - other.status),
    [303, 409],
  )
  const entries = await page.database.read(({ sql }) =>
    sql('audit').where({ action: 'app approve', app_id: apps.pending }),
  )
  expect(entries).toHaveLength(1)
})

test(`in ${rounds} random rounds, nobody approves what was not shown (FUZZ_SEED=${seed})`, async () => {
  const { service, page, ada } = await startWithService()
  const moderators = [ada, await page.signIn('Bo')]
  const random = randomFrom(seed)

  for (let round = 0; round < rounds; round++) {
    const json = { ...newApp, name: `Round ${round}`, description: 'Shown.' }
    const created = await service.request('POST', '/apps', { key: keys.ada, json })
    const id: number = created.body.data.app_id
    /** What each moderator was shown, by id. */
    const shownTo = new Map<string, Texts>()
    const clicks: (() => Promise<void>)[] = []
    for (const moderator of moderators) {
      if (random.next() < 1 / 3)
        await change(service, id, { name: json.name, description: `Edited ${random.next()}.` })
      const isQueue = random.next() < 1 / 2
      const { texts, form } =
        (isQueue && (await findInQueue(moderator, id))) || (await openApp(moderator, id))
      shownTo.set(moderator.id, texts)
      clicks.push(async () => {
        expect([303, 409]).toContain((await moderator.post('/decisions', form)).status)
      })
    }
    const changes = ['second', 'third'].map(
      (name) => () => change(service, id, { ...casino, name }),
    )
    await Promise.all(
      random.shuffled([...clicks, ...changes]).map(async (act) => {
        // Others go first.
        for (let turns = random.next() * 50; turns > 0; turns--) await new Promise(setImmediate)
        await act()
      }),
    )

    // The texts at each approval are those of the entries before it.
    const entries = await page.database.read(({ sql }) =>
      sql('audit').where({ app_id: id }).orderBy('id').select('action', 'after', 'operator_id'),
    )
    const texts: Texts = { name: '', description: '' }
    for (const { action, after, operator_id } of entries) {
      const { name = texts.name, description = texts.description } = JSON.parse(after)
      Object.assign(texts, { name, description })
      if (action === 'app approve') expect(texts).toEqual(shownTo.get(operator_id ?? ''))
    }
    // What the owner wrote after the approval waits for a review.
    const app = await page.database.read(({ sql }) => sql('apps').where({ id }).first())
    if (app?.status === 'approved')
      expect(app.unreviewed_since === null).toBe(entries.at(-1)?.action === 'app approve')
    // So that the queue stays short.
    expect((await service.request('DELETE', `/apps/${id}`, { key: keys.ada })).status).toBe(200)
  }
})
