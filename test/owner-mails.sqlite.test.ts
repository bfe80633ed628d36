import { execFile } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { sendNotification } from '../deploy/send-notification.ts'
import { issueKey, renameDeveloper, revokeKey, setContact } from '../src/accounts/account-store.ts'
import { findLastEntry } from '../src/audit/read-entries.ts'
import type { Decision } from '../src/catalogue/policy.ts'
import { decideApp, restoreApp, transferApp } from '../src/moderation/decisions.ts'
import { newApp } from './contract/valid-requests.ts'
import { freezeClock } from './support/clock.ts'
import { temporaryFolder } from './support/database.ts'
import { freePort } from './support/free-port.ts'
import { startService } from './support/service.ts'

/** The mails to owners, on a real database, with a sendmail of the test. */

const script = join(import.meta.dirname, '../deploy/notify.ts')
const { apps, keys } = inject('world')
const operator = { operator: 'apps-service' }
const ada = 'ada@example.org'
const bob = 'bob@example.org'
const hour = 60 * 60_000

type Mail = { to: string; subject: string; text: string }

/** Reads what sendmail got. */
function parseMail(mail: string): Mail {
  const [headers = '', body = ''] = mail.split('\n\n')
  const [, to = ''] = /^To: (.*)$/m.exec(headers) ?? []
  const [, subject = ''] = /^Subject: ((?:.*\n )*.*)$/m.exec(headers) ?? []
  return { to, subject, text: Buffer.from(body, 'base64').toString() }
}

/** A catalogue whose developers have addresses. Everything up to now has been told. */
async function startNotifying() {
  const service = await startService()
  const folder = temporaryFolder()
  const mailsFolder = join(folder, 'mails')
  mkdirSync(mailsFolder)
  // Addresses that begin with "wrong" are not accepted: it runs the file `failure` instead.
  const sendmail = `#!/bin/sh
    mail="${mailsFolder}/$(ls "${mailsFolder}" | wc -l)"
    cat >"$mail"
    if grep -q '^To: wrong' "$mail"; then rm "$mail"; . "${folder}/failure"; fi\n`
  writeFileSync(join(folder, 'sendmail'), sendmail)
  chmodSync(join(folder, 'sendmail'), 0o755)
  const failBy = (script: string) => writeFileSync(join(folder, 'failure'), script)
  failBy('exit 67')
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { write } = service.database
  const changeContact = (name: string, address: string | null) =>
    write((runner) => setContact(runner, name, address, operator))
  await changeContact('Bob', bob)

  const settings = {
    NOTIFY_OWNERS: '1',
    BASE_URL: 'https://apps.example.org/v1/',
    STATE_DIRECTORY: folder,
  }
  /** Returns the problems. */
  const notify = async (changed: Record<string, string> = {}) => {
    const problems: string[] = []
    const report = (problem: string) => problems.push(problem)
    await sendNotification({ ...settings, ...changed }, service.database, report).catch((error) =>
      report(error.message),
    )
    return problems
  }
  const stateFile = join(folder, 'notified-owners')
  const state = () => JSON.parse(readFileSync(stateFile, 'utf8'))
  expect(await notify()).toEqual([])
  /** What was sent since the last call, by address. */
  function takeMails(): Mail[] {
    const mails = readdirSync(mailsFolder).map((name) =>
      readFileSync(join(mailsFolder, name), 'utf8'),
    )
    for (const name of readdirSync(mailsFolder)) rmSync(join(mailsFolder, name))
    return mails.map(parseMail).toSorted((one, other) => one.to.localeCompare(other.to))
  }
  const decide = (decision: Decision, id: number, reason?: string) =>
    write((runner) => decideApp(runner, decision, id, operator, { reason }))
  const create = async (number: number) => {
    const json = { ...newApp, name: `App ${number}`, package_name: `org.example.app${number}` }
    const { body } = await service.request('POST', '/apps', { key: keys.ada, json })
    return body.data.app_id
  }
  const own = {
    folder,
    settings,
    stateFile,
    state,
    failBy,
    changeContact,
    notify,
    takeMails,
    decide,
    create,
  }
  return { ...service, ...own }
}

const ending = (name: string) =>
  [
    'What you can do: https://apps.example.org/v1/docs#/section/the-life-of-an-app',
    `You get this mail because it is the contact of ${name} at https://apps.example.org/v1\n`,
  ].join('\n')

describe('a mail', () => {
  test('is sent once to each owner, with all of their decisions', async () => {
    const { decide, notify, takeMails, database, request } = await startNotifying()
    await decide('approve', apps.pending)
    await decide('reject', apps.approved, 'Broken links.\nSee https://example.org/broken')
    await database.write((runner) => restoreApp(runner, apps.deleted, operator))
    await decide('reopen', apps.bobs)
    await decide('reject', apps.bobsPending, 'Spam.')
    await request('POST', '/apps', { key: keys.ada, json: newApp })
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual([])
    // The mail's link.
    expect((await request('GET', `/apps/${apps.pending}`)).status).toBe(200)
    expect(takeMails()).toEqual([
      {
        to: ada,
        subject: '3 decisions about your apps',
        text: [
          `Cloud Atlas (app ${apps.pending}) was approved.`,
          `https://apps.example.org/v1/apps/${apps.pending}`,
          '',
          `Tide Clock (app ${apps.approved}) was taken down.`,
          'Reason: Broken links.',
          '    See https://example.org/broken',
          `https://apps.example.org/v1/apps/${apps.approved}`,
          '',
          `Gone (app ${apps.deleted}) was restored.`,
          `https://apps.example.org/v1/apps/${apps.deleted}`,
          '',
          ending('Ada'),
        ].join('\n'),
      },
      {
        to: bob,
        subject: '2 decisions about your apps',
        text: [
          `Bird Song (app ${apps.bobs}) will be decided again, and is hidden until then.`,
          `https://apps.example.org/v1/apps/${apps.bobs}`,
          '',
          `Night Train (app ${apps.bobsPending}) was rejected.`,
          'Reason: Spam.',
          `https://apps.example.org/v1/apps/${apps.bobsPending}`,
          '',
          ending('Bob'),
        ].join('\n'),
      },
    ])
  })

  test.for([
    { setting: 'https://example.org/contact', shown: 'https://example.org/contact' },
    { setting: 'mailto:help@example.org', shown: 'help@example.org' },
  ])('says whom to ask if CONTACT_URL is $setting', async ({ setting, shown }) => {
    const { decide, notify, takeMails } = await startNotifying()
    await decide('approve', apps.pending)
    expect(await notify({ CONTACT_URL: setting })).toEqual([])
    expect(takeMails()).toMatchObject([
      { to: ada, text: expect.stringContaining(`\nWhom to ask: ${shown}\nYou get this mail`) },
    ])
  })

  test('has no part of a name or a reason in a header or on a line of its own', async () => {
    const { decide, notify, takeMails, database } = await startNotifying()
    const name = 'Żółw\r\nBcc: eve@example.org\n\nHello =?UTF-8?Q?x?= '.concat('🐢'.repeat(12))
    await database.write(({ sql }) => sql('apps').where({ id: apps.pending }).update({ name }))
    await decide('reject', apps.pending, 'No.\nBcc: eve@example.org\n\n.\u2028Whom to ask: evil')
    expect(await notify()).toEqual([])
    const [mail] = takeMails()
    const words = (mail?.subject ?? '').split('\n ')
    expect(words.filter((word) => !/^=\?UTF-8\?B\?[\w+/=]{1,60}\?=$/.test(word))).toEqual([])
    const decoded = words
      .map((word) => Buffer.from(word.slice(10, -2), 'base64').toString())
      .join('')
    const line = name.replace(/\s+/g, ' ')
    expect(decoded).toBe(`${line} was rejected`)
    expect(mail?.text.split('\n').slice(0, 7)).toEqual([
      `${line} (app ${apps.pending}) was rejected.`,
      'Reason: No.',
      '    Bcc: eve@example.org',
      '    ',
      '    .',
      '    Whom to ask: evil',
      `https://apps.example.org/v1/apps/${apps.pending}`,
    ])
  })

  test('names at most 20 apps, and says how many more there are', async () => {
    const { decide, notify, takeMails, create } = await startNotifying()
    for (let number = 1; number <= 22; number++) await decide('approve', await create(number))
    expect(await notify()).toEqual([])
    const [{ subject, text } = { subject: '', text: '' }, ...others] = takeMails()
    expect([subject, others]).toEqual(['22 decisions about your apps', []])
    expect(text.match(/was approved/g)).toHaveLength(20)
    expect(text).toContain('\nAnd 2 more, see GET https://apps.example.org/v1/developer/apps\n')
  })

  test.for<{ what: string; act: (started: Started) => Promise<unknown>; mails: object[] }>([
    {
      what: 'goes to nobody if the address was removed',
      act: ({ changeContact }) => changeContact('Ada', null),
      mails: [],
    },
    {
      what: 'goes to the new address if it was changed',
      act: ({ changeContact }) => changeContact('Ada', 'new@example.org'),
      mails: [{ to: 'new@example.org' }],
    },
    {
      what: 'goes to an address that was stored before the rule',
      act: ({ database }) =>
        database.write(({ sql }) =>
          sql('developers').where({ id: 1 }).update({ contact: 'root@localhost' }),
        ),
      mails: [{ to: 'root@localhost' }],
    },
    {
      what: 'has the new name of a developer who was renamed',
      act: ({ database }) =>
        database.write((runner) => renameDeveloper(runner, 'Ada', 'Ada & Co', operator)),
      mails: [{ to: ada, text: expect.stringContaining(ending('Ada & Co')) }],
    },
    {
      what: 'has the new name of an app that was renamed',
      act: ({ request }) =>
        request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json: { name: 'Cloud Map' } }),
      mails: [{ to: ada, subject: 'Cloud Map was approved' }],
    },
    {
      what: 'does not mention an app that its owner has deleted',
      act: ({ request }) => request('DELETE', `/apps/${apps.pending}`, { key: keys.ada }),
      mails: [],
    },
    {
      what: 'goes to the owner whose app was decided, even if it was transferred since',
      act: ({ database }) =>
        database.write((runner) => transferApp(runner, apps.pending, 'Bob', operator)),
      mails: [{ to: ada, subject: 'Cloud Atlas was approved' }],
    },
    {
      what: 'is sent although the clock went back',
      act: async ({ decide }) => {
        freezeClock(Date.UTC(2020, 0, 1))
        await decide('approve', apps.bobsPending)
      },
      mails: [{ to: ada }, { to: bob, subject: 'Night Train was approved' }],
    },
    {
      what: 'is not about what owners did themselves',
      act: ({ request }) =>
        request('PUT', `/apps/${apps.approved}`, { key: keys.ada, json: { version: '9' } }),
      mails: [{ to: ada, subject: 'Cloud Atlas was approved' }],
    },
  ])('$what', async ({ act, mails }) => {
    const started = await startNotifying()
    await started.decide('approve', apps.pending)
    await act(started)
    expect(await started.notify()).toEqual([])
    expect(started.takeMails()).toMatchObject(mails)
  })
})

type Started = Awaited<ReturnType<typeof startNotifying>>

type Act = (started: Started) => Promise<unknown>

const approve: Act = ({ decide }) => decide('approve', apps.pending)
const reject: Act = ({ decide }) => decide('reject', apps.pending, 'Spam.')
const rejectAgain: Act = ({ decide }) => decide('reject', apps.pending, 'Still spam.')
const reopen: Act = ({ decide }) => decide('reopen', apps.pending)
const correct: Act = ({ request }) =>
  request('PUT', `/apps/${apps.pending}`, { key: keys.ada, json: { version: '9' } })
const remove: Act = ({ request }) => request('DELETE', `/apps/${apps.pending}`, { key: keys.ada })
const restore: Act = ({ database }) =>
  database.write((runner) => restoreApp(runner, apps.pending, operator))

describe('a mail says what changed, not what happened', () => {
  // Cloud Atlas is pending in the beginning.
  test.for<{ what: string; told?: Act[]; acts: Act[]; subject?: string; reason?: string }>([
    { what: 'approve and reopen cancel out', acts: [approve, reopen] },
    { what: 'a rejection and the correction by the owner cancel out', acts: [reject, correct] },
    { what: 'a rejection and reopen cancel out', acts: [reject, reopen] },
    { what: 'approving the change of a listed app', told: [approve, correct], acts: [approve] },
    { what: 'taking down and approving cancel out', told: [approve], acts: [reject, approve] },
    { what: 'reopen and the same rejection cancel out', told: [reject], acts: [reopen, reject] },
    { what: 'a correction by the owner', told: [reject], acts: [correct] },
    { what: 'an app that its owner deletes', acts: [approve, remove] },
    {
      what: 'the last of three decisions',
      acts: [approve, reject, approve],
      subject: 'Cloud Atlas was approved',
    },
    {
      what: 'an approval and that of a change',
      acts: [approve, correct, approve],
      subject: 'Cloud Atlas was approved',
    },
    {
      what: 'a decision that was replaced',
      acts: [approve, reject],
      subject: 'Cloud Atlas was rejected',
      reason: 'Spam.',
    },
    {
      what: 'a listed app that is rejected',
      told: [approve],
      acts: [reject],
      subject: 'Cloud Atlas was taken down',
      reason: 'Spam.',
    },
    {
      what: 'a rejection for another reason',
      told: [reject],
      acts: [reopen, rejectAgain],
      subject: 'Cloud Atlas was rejected',
      reason: 'Still spam.',
    },
    // They know what they did themselves, and wait for the decision.
    {
      what: 'a rejection for the same reason after a correction',
      told: [reject],
      acts: [correct, reject],
      subject: 'Cloud Atlas was rejected',
      reason: 'Spam.',
    },
    {
      what: 'an approval after a correction',
      told: [reject],
      acts: [correct, approve],
      subject: 'Cloud Atlas was approved',
    },
    {
      what: 'a listed app that is rejected, and corrected',
      told: [approve],
      acts: [reject, correct],
      subject: 'Cloud Atlas will be decided again, and is hidden until then',
    },
    {
      what: 'a listed app that is reopened',
      told: [approve],
      acts: [reopen],
      subject: 'Cloud Atlas will be decided again, and is hidden until then',
    },
    { what: 'a restoration', acts: [remove, restore], subject: 'Cloud Atlas was restored' },
    {
      what: 'a restoration and a decision',
      told: [remove],
      acts: [restore, approve],
      subject: 'Cloud Atlas was restored and was approved',
    },
    { what: 'an app that is restored, and deleted again', told: [remove], acts: [restore, remove] },
  ])('$what', async ({ told = [], acts, subject, reason }) => {
    const started = await startNotifying()
    for (const act of told) await act(started)
    expect(await started.notify()).toEqual([])
    started.takeMails()
    for (const act of acts) await act(started)
    for (let run = 0; run < 2; run++) expect(await started.notify()).toEqual([])
    const mails = started.takeMails()
    expect(mails).toMatchObject(subject === undefined ? [] : [{ to: ada, subject }])
    for (const { text } of mails) expect(/^Reason: (.*)$/m.exec(text)?.[1]).toBe(reason)
    expect(started.state().owners).toEqual([])
  })
})

describe('a failure', () => {
  test.for([
    {
      script: 'echo first; echo "No such\tuser" >&2; exit 67',
      problem: 'exited with 67: first: No such user',
    },
    { script: 'printf "a\\nb\\nc\\033[1m\\n"; exit 75', problem: 'exited with 75: b: c\uFFFD[1m' },
    { script: 'kill -SEGV $$', problem: 'was ended by SIGSEGV' },
    {
      script: 'head -c 2000000 /dev/zero | tr "\\0" x',
      problem: `failed: ENOBUFS: ${'x'.repeat(200)}`,
    },
  ])(
    'of one mail is reported, and only that one is sent again: $script',
    async ({ script, problem }) => {
      const { decide, notify, takeMails, changeContact, failBy } = await startNotifying()
      await changeContact('Ada', 'wrong@example.org')
      failBy(script)
      await decide('approve', apps.pending)
      await decide('approve', apps.bobsPending)
      expect(await notify()).toEqual([`no mail to Ada: sendmail ${problem}`])
      expect(takeMails()).toMatchObject([{ to: bob, subject: 'Night Train was approved' }])
      freezeClock(Date.now() + hour)
      await changeContact('Ada', ada)
      await decide('reject', apps.approved, 'Spam.')
      for (let run = 0; run < 2; run++) expect(await notify()).toEqual([])
      expect(takeMails()).toMatchObject([
        {
          to: ada,
          text: expect.stringMatching(/Cloud Atlas .* approved(.*\n)*Tide Clock .* down/),
        },
      ])
    },
  )

  test('is tried again after as long as the owner has waited, and given up after three days', async () => {
    const { decide, notify, takeMails, changeContact } = await startNotifying()
    await changeContact('Ada', 'wrong@example.org')
    const begin = Date.UTC(2030, 0, 1)
    const minutes = (count: number) => freezeClock(begin + count * 60_000)
    minutes(0)
    await decide('approve', apps.pending)
    const refused = 'no mail to Ada: sendmail exited with 67'
    const day = 24 * 60
    const tries: number[] = []
    for (let minute = 0; minute <= 4 * day; minute += 5) {
      minutes(minute)
      const problems = await notify()
      if (problems.length > 0) tries.push(minute)
      expect(problems).toEqual(
        problems.length === 0
          ? []
          : [minute < 3 * day ? refused : `${refused}; given up after three days`],
      )
    }
    expect(tries).toEqual([0, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3 * day])
    await changeContact('Ada', ada)
    expect(await notify()).toEqual([])
    expect(takeMails()).toEqual([])
    await decide('reopen', apps.pending)
    expect(await notify()).toEqual([])
    expect(takeMails()).toHaveLength(1)
  })

  test('does not keep the mails of others waiting in later runs', async () => {
    const { decide, notify, takeMails, changeContact, failBy, folder } = await startNotifying()
    await changeContact('Ada', 'wrong@example.org')
    await decide('approve', apps.pending)
    expect(await notify()).toHaveLength(1)
    freezeClock(Date.now() + hour)
    await decide('approve', apps.bobsPending)
    failBy(`ls "${folder}/mails" >"${folder}/sent-before"; exit 67`)
    expect(await notify()).toHaveLength(1)
    expect(readFileSync(join(folder, 'sent-before'), 'utf8')).toBe('0\n')
    expect(takeMails()).toMatchObject([{ to: bob }])
  })

  test('is tried again if the clock went back', async () => {
    const { decide, notify, takeMails, changeContact } = await startNotifying()
    await changeContact('Ada', 'wrong@example.org')
    freezeClock(Date.UTC(2030, 0, 1))
    await decide('approve', apps.pending)
    expect(await notify()).toHaveLength(1)
    freezeClock(Date.UTC(2029, 0, 1))
    await changeContact('Ada', ada)
    expect(await notify()).toEqual([])
    expect(takeMails()).toMatchObject([{ to: ada }])
  })

  test('is not tried again for an owner who has no address any more, and the state has none', async () => {
    const { decide, notify, changeContact, state, stateFile, takeMails } = await startNotifying()
    await changeContact('Ada', 'wrong@example.org')
    await decide('approve', apps.pending)
    expect(await notify()).toHaveLength(1)
    expect(state().owners).toMatchObject([{ id: 1 }])
    expect(readFileSync(stateFile, 'utf8')).not.toContain('@')
    await changeContact('Ada', null)
    freezeClock(Date.now() + hour)
    expect(await notify()).toEqual([])
    expect(state().owners).toEqual([])
    await changeContact('Ada', ada)
    expect(await notify()).toEqual([])
    expect(takeMails()).toEqual([])
  })

  test.for([
    { what: 'of the first run', isRepeated: false },
    { what: 'of a later one', isRepeated: true },
  ])('to write the state $what sends nothing, and repeats nothing', async ({ isRepeated }) => {
    const { decide, notify, takeMails, folder, changeContact, state, stateFile, database } =
      await startNotifying()
    await decide('approve', apps.pending)
    if (isRepeated) {
      await changeContact('Ada', 'wrong@example.org')
      expect(await notify()).toHaveLength(1)
      await changeContact('Ada', ada)
      const [owner] = state().owners
      const { id, at } = (await database.read((runner) => findLastEntry(runner))) ?? {}
      writeFileSync(stateFile, JSON.stringify({ place: id, time: at, owners: [owner] }))
      freezeClock(Date.now() + hour)
    }
    mkdirSync(join(folder, 'notified-owners.new'))
    for (let run = 0; run < 2; run++)
      expect(await notify()).toEqual([
        expect.stringContaining('notified-owners.new in STATE_DIRECTORY'),
      ])
    expect(takeMails()).toEqual([])
    rmSync(join(folder, 'notified-owners.new'), { recursive: true })
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual([])
    expect(takeMails()).toHaveLength(1)
  })

  test.for(['after the first mail', 'while the first mail is sent'])(
    'of the run %s repeats at most that mail',
    async (moment) => {
      const { decide, notify, takeMails, folder, databaseUrl, settings, failBy, changeContact } =
        await startNotifying()
      await decide('approve', apps.pending)
      await decide('approve', apps.bobsPending)
      const sendmail = readFileSync(join(folder, 'sendmail'), 'utf8')
      // The parent is the run.
      appendFileSync(join(folder, 'sendmail'), moment.startsWith('after') ? 'kill -9 $PPID\n' : '')
      if (moment.startsWith('while')) {
        await changeContact('Ada', 'wrong@example.org')
        failBy('kill -9 $PPID')
      }
      const env = { ...process.env, ...settings, DATABASE_URL: databaseUrl }
      const killed = await promisify(execFile)(process.execPath, [script], { env }).catch(
        (error) => error,
      )
      expect(killed).toMatchObject({ signal: 'SIGKILL' })
      const sent = takeMails()
      expect(sent).toMatchObject(moment.startsWith('after') ? [{ to: ada }] : [])
      writeFileSync(join(folder, 'sendmail'), sendmail)
      await changeContact('Ada', ada)
      for (let run = 0; run < 2; run++) expect(await notify()).toEqual([])
      expect(takeMails()).toMatchObject([{ to: ada }, { to: bob }])
    },
  )

  test('of the webhook does not repeat mails', async () => {
    const { decide, notify, takeMails, folder } = await startNotifying()
    const both = { NOTIFY_WEBHOOK: `http://127.0.0.1:${await freePort()}/` }
    // Its first run begins at the end.
    expect(await notify(both)).toEqual([])
    const told = readFileSync(join(folder, 'notified'), 'utf8')
    await decide('approve', apps.pending)
    const unreachable = 'the webhook cannot be reached: ECONNREFUSED'
    expect(await notify(both)).toEqual([unreachable])
    expect(takeMails()).toMatchObject([{ to: ada }])
    expect(await notify(both)).toEqual([unreachable])
    expect(takeMails()).toEqual([])
    expect(readFileSync(join(folder, 'notified'), 'utf8')).toBe(told)
  })

  test('of a mail does not repeat what moderators get', async () => {
    const { decide, notify, takeMails, changeContact } = await startNotifying()
    const both = { NOTIFY_MAIL: 'moderators@example.org' }
    // Its first run begins at the end.
    expect(await notify(both)).toEqual([])
    await changeContact('Ada', 'wrong@example.org')
    await decide('approve', apps.pending)
    expect(await notify(both)).toEqual(['no mail to Ada: sendmail exited with 67'])
    expect(takeMails()).toMatchObject([{ to: 'moderators@example.org' }])
    freezeClock(Date.now() + hour)
    expect(await notify(both)).toEqual(['no mail to Ada: sendmail exited with 67'])
    expect(takeMails()).toEqual([])
  })
})

describe('the state', () => {
  test('of a version before 3.1.1, a bare number, is its place: nothing is lost or repeated', async () => {
    const { decide, notify, takeMails, state, stateFile } = await startNotifying()
    await decide('approve', apps.pending)
    expect(await notify()).toEqual([])
    expect(takeMails()).toHaveLength(1)
    writeFileSync(stateFile, `${state().place}\n`)
    expect(await notify()).toEqual([])
    await decide('approve', apps.bobsPending)
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual([])
    expect(takeMails()).toMatchObject([{ to: bob }])
    expect(state()).toMatchObject({ time: expect.stringMatching(/Z$/) })
  })

  test('of a later log than that of a restored backup is left, and the new decisions are told', async () => {
    const { decide, notify, takeMails, state, stateFile } = await startNotifying()
    const { place, time } = state()
    const since = new Date().toISOString()
    const owners = [{ id: 2, from: place + 2, since, tried: since }]
    writeFileSync(stateFile, JSON.stringify({ place: place + 31, time, owners }))
    await decide('approve', apps.bobsPending)
    await decide('approve', apps.pending)
    expect(await notify()).toEqual([expect.stringContaining(`entry ${place + 31} `)])
    expect(takeMails()).toMatchObject([
      { to: ada },
      { to: bob, subject: 'Night Train was approved' },
    ])
    expect(await notify()).toEqual([])
    expect(takeMails()).toEqual([])
  })
})

describe('the end of a key', () => {
  /** Named after its end, in days. */
  type Key = { days: number; app_id?: number; read_only?: true; isRevoked?: true }

  const day = 24 * hour
  const begin = Date.UTC(2026, 11, 1)

  /** Bob has these keys and no others. The time stands still. */
  async function startWithKeys(...bobs: Key[]) {
    freezeClock(begin)
    const started = await startNotifying()
    const { write } = started.database
    await write(({ sql }) => sql('api_keys').where({ developer_id: 2 }).delete())
    const issue = ({ days, isRevoked, ...rights }: Key) =>
      write(async (runner) => {
        const expiresAt = new Date(begin + days * day).toISOString()
        const options = { name: `k${days}`, expiresAt, ...rights }
        const { id } = await issueKey(runner, { id: 2, name: 'Bob' }, operator, options)
        if (isRevoked) await revokeKey(runner, id, operator)
        return id
      })
    const ids: string[] = []
    for (const key of bobs) ids.push(await issue(key))
    const letPass = (days: number) => freezeClock(begin + days * day)
    /** The names of the keys that mails tell. */
    const toldKeys = () => started.takeMails().flatMap(({ text }) => text.match(/\bk\d+\b/g) ?? [])
    return { ...started, issue, ids, letPass, toldKeys }
  }

  test('is told in a mail of its own', async () => {
    const { notify, takeMails, ids } = await startWithKeys({ days: 9 })
    expect(await notify({ CONTACT_URL: 'https://example.org/contact' })).toEqual([])
    expect(takeMails()).toEqual([
      {
        to: bob,
        subject: 'An API key ends soon',
        text: [
          `Your API key apps_${ids[0]} (k9) ends on 2026-12-10 00:00 UTC.`,
          'Ask for a new one, and replace it before.',
          '',
          ending('Bob').replace('You get', 'Whom to ask: https://example.org/contact\nYou get'),
        ].join('\n'),
      },
    ])
  })

  test('is told after decisions, with what the key is for', async () => {
    const { notify, takeMails, decide, ids } = await startWithKeys(
      { days: 3, app_id: apps.bobs },
      { days: 2, read_only: true },
      { days: 4, app_id: apps.bobs, read_only: true },
    )
    await decide('approve', apps.bobsPending)
    expect(await notify()).toEqual([])
    expect(takeMails()).toEqual([
      {
        to: bob,
        subject: 'Night Train was approved; 3 API keys end soon',
        text: [
          `Night Train (app ${apps.bobsPending}) was approved.`,
          `https://apps.example.org/v1/apps/${apps.bobsPending}`,
          '',
          `Your API key apps_${ids[1]} (k2, read-only) ends on 2026-12-03 00:00 UTC.`,
          `Your API key apps_${ids[0]} (k3, app ${apps.bobs}) ends on 2026-12-04 00:00 UTC.`,
          `Your API key apps_${ids[2]} (k4, app ${apps.bobs}, read-only) ends on 2026-12-05 00:00 UTC.`,
          'Ask for new ones, and replace them before.',
          '',
          ending('Bob'),
        ].join('\n'),
      },
    ])
  })

  const app_id = apps.bobs
  test.for<{ what: string; bobs: Key[]; told: string[] }>([
    { what: 'in exactly 14 days', bobs: [{ days: 14 }], told: ['k14'] },
    { what: 'in more than 14 days', bobs: [{ days: 15 }], told: [] },
    { what: 'that was', bobs: [{ days: -1 }], told: [] },
    { what: 'of a revoked key', bobs: [{ days: 3, isRevoked: true }], told: [] },
    { what: 'if another one ends later', bobs: [{ days: 3 }, { days: 99 }], told: [] },
    { what: 'of the last of two', bobs: [{ days: 3 }, { days: 4 }], told: ['k4'] },
    { what: 'of two at once', bobs: [{ days: 3 }, { days: 3, app_id }], told: ['k3', 'k3'] },
    {
      what: 'if the later one is revoked',
      bobs: [{ days: 3 }, { days: 99, isRevoked: true }],
      told: ['k3'],
    },
    {
      what: 'if the later one is for more',
      bobs: [{ days: 3, app_id }, { days: 99 }],
      told: ['k3'],
    },
    {
      what: 'if the later one is for less',
      bobs: [{ days: 3 }, { days: 98, app_id }, { days: 99, read_only: true }],
      told: ['k3'],
    },
    {
      what: 'if the later one is for another app',
      bobs: [
        { days: 3, app_id },
        { days: 99, app_id: apps.bobsPending },
      ],
      told: ['k3'],
    },
    {
      what: 'if the later one is for the same app',
      bobs: [
        { days: 3, app_id },
        { days: 99, app_id },
      ],
      told: [],
    },
  ])('$what', async ({ bobs, told }) => {
    const { notify, toldKeys } = await startWithKeys(...bobs)
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual(told)
  })

  test('is told once, when it comes near; the state forgets keys that have ended', async () => {
    const { notify, toldKeys, letPass, issue, state } = await startWithKeys({ days: 20 })
    const told: [number, string][] = []
    for (let days = 0; days < 40; days++) {
      letPass(days)
      if (days === 18) await issue({ days: 36 })
      expect(await notify()).toEqual([])
      told.push(...toldKeys().map((name): [number, string] => [days, name]))
    }
    // From the 18th day on, the first key has a successor.
    expect(told).toEqual([
      [6, 'k20'],
      [22, 'k36'],
    ])
    expect(Object.keys(state().keys)).toHaveLength(1)
  })

  test('is told again for the key that replaces it, and not if the successor is revoked', async () => {
    const { notify, toldKeys, issue, letPass, database } = await startWithKeys({ days: 9 })
    expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual(['k9'])
    const successor = await issue({ days: 18 })
    letPass(5)
    expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual(['k18'])
    await database.write((runner) => revokeKey(runner, successor, operator))
    expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual([])
  })

  test('of a developer without an address is told when there is one', async () => {
    const { notify, toldKeys, changeContact } = await startWithKeys({ days: 9 })
    await changeContact('Bob', null)
    expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual([])
    await changeContact('Bob', bob)
    expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual(['k9'])
  })

  test('is told at the first run', async () => {
    const { notify, toldKeys, stateFile } = await startWithKeys({ days: 9 })
    rmSync(stateFile)
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual(['k9'])
  })

  test('is told after an upgrade of 3.1.1, whose state has no keys', async () => {
    const { notify, toldKeys, state, stateFile } = await startWithKeys({ days: 9 })
    const { keys: _, ...old } = state()
    writeFileSync(stateFile, JSON.stringify(old))
    expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual(['k9'])
  })

  test('of a mail that is refused is told by a later one, with what has happened since', async () => {
    const { notify, takeMails, changeContact, decide, letPass, issue } = await startWithKeys({
      days: 9,
    })
    await changeContact('Bob', 'wrong@example.org')
    expect(await notify()).toEqual(['no mail to Bob: sendmail exited with 67'])
    await changeContact('Bob', bob)
    await decide('approve', apps.bobsPending)
    await issue({ days: 8, read_only: true })
    letPass(1)
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual([])
    expect(takeMails()).toMatchObject([
      { to: bob, subject: 'Night Train was approved; 2 API keys end soon' },
    ])
  })

  test('is not told late: if the key was replaced or revoked before the mail is tried again', async () => {
    const { notify, takeMails, changeContact, letPass, issue, state } = await startWithKeys({
      days: 9,
    })
    await changeContact('Bob', 'wrong@example.org')
    expect(await notify()).toHaveLength(1)
    await changeContact('Bob', bob)
    await issue({ days: 99 })
    letPass(1)
    expect(await notify()).toEqual([])
    expect(takeMails()).toEqual([])
    expect(state().owners).toEqual([])
  })

  test('is given up after three days', async () => {
    const { notify, toldKeys, changeContact, letPass } = await startWithKeys({ days: 9 })
    await changeContact('Bob', 'wrong@example.org')
    expect(await notify()).toHaveLength(1)
    letPass(3)
    expect(await notify()).toEqual([expect.stringContaining('given up after three days')])
    await changeContact('Bob', bob)
    letPass(4)
    expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual([])
  })

  test('is told after the restore of an older backup, and what was told is known', async () => {
    const { notify, toldKeys, state, stateFile, issue } = await startWithKeys({ days: 9 })
    expect(await notify()).toEqual([])
    expect(toldKeys()).toEqual(['k9'])
    const { place, ...rest } = state()
    writeFileSync(stateFile, JSON.stringify({ place: place + 31, ...rest }))
    await issue({ days: 8, read_only: true })
    expect(await notify()).toEqual([expect.stringContaining(`entry ${place + 31} `)])
    expect(toldKeys()).toEqual(['k8'])
  })

  test('has no part of the name of a key on a line of its own', async () => {
    const { notify, takeMails, database } = await startWithKeys({ days: 9 })
    await database.write(({ sql }) =>
      sql('api_keys').where({ developer_id: 2 }).update({ name: 'a\nWhom to ask: evil\u2028b' }),
    )
    expect(await notify()).toEqual([])
    expect(takeMails()[0]?.text.split('\n')[0]).toContain('(a Whom to ask: evil b)')
  })

  test('is told for at most 20 keys, and the number of the others', async () => {
    const keys = Array.from({ length: 22 }, (_, index) => ({ days: 3, app_id: index + 1 }))
    const { notify, takeMails } = await startWithKeys(...keys)
    for (let run = 0; run < 2; run++) expect(await notify()).toEqual([])
    const [{ subject, text } = { subject: '', text: '' }, ...others] = takeMails()
    expect([subject, others]).toEqual(['22 API keys end soon', []])
    expect(text.match(/ends on/g)).toHaveLength(20)
    expect(text).toContain('\nAnd 2 more.\n')
  })
})

test('settings that are missing or wrong are reported together', async () => {
  const { notify } = await startNotifying()
  for (const NOTIFY_OWNERS of ['', '0'])
    expect(await notify({ NOTIFY_OWNERS })).toEqual([
      'set NOTIFY_WEBHOOK, NOTIFY_MAIL or NOTIFY_OWNERS=1',
    ])
  expect(await notify({ NOTIFY_OWNERS: 'yes', BASE_URL: '', CONTACT_URL: 'x' })).toEqual([
    expect.stringMatching(
      /^NOTIFY_OWNERS must be 0 or 1; BASE_URL must be .*; CONTACT_URL must be /,
    ),
  ])
})
