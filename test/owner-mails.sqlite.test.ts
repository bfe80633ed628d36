import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { sendNotification } from '../deploy/send-notification.ts'
import { renameDeveloper, setContact } from '../src/accounts/account-store.ts'
import type { Decision } from '../src/catalogue/policy.ts'
import { decideApp, restoreApp, transferApp } from '../src/moderation/decisions.ts'
import { newApp } from './contract/valid-requests.ts'
import { freezeClock } from './support/clock.ts'
import { temporaryFolder } from './support/database.ts'
import { freePort } from './support/free-port.ts'
import { startService } from './support/service.ts'

/** The mails to owners, on a real database, with a sendmail of the test. */

const { apps, keys } = inject('world')
const operator = { operator: 'apps-service' }
const ada = 'ada@example.org'
const bob = 'bob@example.org'

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
  // It refuses addresses that begin with "wrong".
  const sendmail = `#!/bin/sh
    mail="${mailsFolder}/$(ls "${mailsFolder}" | wc -l)"
    cat >"$mail"
    if grep -q '^To: wrong' "$mail"; then rm "$mail"; exit 67; fi\n`
  const installSendmail = () => {
    writeFileSync(join(folder, 'sendmail'), sendmail)
    chmodSync(join(folder, 'sendmail'), 0o755)
  }
  installSendmail()
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
  /** Returns the problem, if there is one. */
  const notify = (changed: Record<string, string> = {}) =>
    sendNotification({ ...settings, ...changed }, service.database).then(
      () => undefined,
      (error: Error) => error.message,
    )
  expect(await notify()).toBeUndefined()
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
  const own = { folder, installSendmail, changeContact, notify, takeMails, decide, create }
  return { ...service, ...own }
}

const footerOf = (name: string) =>
  `You get this mail because it is the contact of ${name} at https://apps.example.org/v1\n`

describe('a mail', () => {
  test('is sent once to each owner, with all of their decisions', async () => {
    const { decide, notify, takeMails, database, request } = await startNotifying()
    await decide('approve', apps.pending)
    await decide('reject', apps.approved, 'Broken links.')
    await database.write((runner) => restoreApp(runner, apps.deleted, operator))
    await decide('reopen', apps.bobs)
    await decide('reject', apps.bobsPending, 'Spam.')
    await request('POST', '/apps', { key: keys.ada, json: newApp })
    for (let run = 0; run < 2; run++) expect(await notify()).toBeUndefined()
    // The mail's link.
    expect((await request('GET', `/apps/${apps.pending}`)).status).toBe(200)
    expect(takeMails()).toEqual([
      {
        to: ada,
        subject: '3 decisions about your apps',
        text: [
          'Cloud Atlas was approved.',
          `https://apps.example.org/v1/apps/${apps.pending}`,
          '',
          'Tide Clock was taken down.',
          'Reason: Broken links.',
          'What you can do: https://apps.example.org/v1/docs#/section/the-life-of-an-app',
          '',
          'Gone was restored.',
          'What you can do: https://apps.example.org/v1/docs#/section/the-life-of-an-app',
          '',
          footerOf('Ada'),
        ].join('\n'),
      },
      {
        to: bob,
        subject: '2 decisions about your apps',
        text: expect.stringMatching(
          /^Bird Song will be decided again\.\n(?:.*\n)*Reason: Spam\.\n/,
        ),
      },
    ])
  })

  test('about one app has its name in the subject, and its last decision', async () => {
    const { decide, notify, takeMails } = await startNotifying()
    await decide('approve', apps.pending)
    await decide('reject', apps.pending, 'On second thoughts, no.')
    await decide('approve', apps.pending)
    expect(await notify()).toBeUndefined()
    expect(takeMails()).toMatchObject([{ to: ada, subject: 'Cloud Atlas was approved' }])
  })

  test('has no part of a name or a reason in a header or on a line of its own', async () => {
    const { decide, notify, takeMails, database } = await startNotifying()
    const name = 'Żółw\r\nBcc: eve@example.org\n\nHello =?UTF-8?Q?x?= '.concat('🐢'.repeat(12))
    await database.write(({ sql }) => sql('apps').where({ id: apps.pending }).update({ name }))
    await decide('reject', apps.pending, 'No.\nBcc: eve@example.org\n\n.\nWhat you can do: evil')
    expect(await notify()).toBeUndefined()
    const [mail] = takeMails()
    const words = (mail?.subject ?? '').split('\n ')
    expect(words.filter((word) => !/^=\?UTF-8\?B\?[\w+/=]{1,60}\?=$/.test(word))).toEqual([])
    const decoded = words
      .map((word) => Buffer.from(word.slice(10, -2), 'base64').toString())
      .join('')
    const line = name.replace(/\s+/g, ' ')
    expect(decoded).toBe(`${line} was rejected`)
    expect(mail?.text.split('\n').slice(0, 3)).toEqual([
      `${line} was rejected.`,
      'Reason: No. Bcc: eve@example.org . What you can do: evil',
      'What you can do: https://apps.example.org/v1/docs#/section/the-life-of-an-app',
    ])
  })

  test('names at most 20 apps, and says how many more there are', async () => {
    const { decide, notify, takeMails, create } = await startNotifying()
    for (let number = 1; number <= 22; number++) await decide('approve', await create(number))
    expect(await notify()).toBeUndefined()
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
      what: 'has the new name of a developer who was renamed',
      act: ({ database }) =>
        database.write((runner) => renameDeveloper(runner, 'Ada', 'Ada & Co', operator)),
      mails: [{ to: ada, text: expect.stringContaining(footerOf('Ada & Co')) }],
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
    expect(await started.notify()).toBeUndefined()
    expect(started.takeMails()).toMatchObject(mails)
  })
})

type Started = Awaited<ReturnType<typeof startNotifying>>

describe('a failure', () => {
  test('of one mail is reported with the name, and neither it nor the others are sent again', async () => {
    const { decide, notify, takeMails, changeContact } = await startNotifying()
    await changeContact('Ada', 'wrong@example.org')
    await decide('approve', apps.pending)
    await decide('approve', apps.bobsPending)
    expect(await notify()).toBe('no mail to Ada: sendmail exited with 67')
    expect(takeMails()).toMatchObject([{ to: bob, subject: 'Night Train was approved' }])
    expect(await notify()).toBeUndefined()
    expect(takeMails()).toEqual([])
  })

  test('to run sendmail tells all later', async () => {
    const { decide, notify, takeMails, folder, installSendmail } = await startNotifying()
    await decide('approve', apps.pending)
    writeFileSync(join(folder, 'sendmail'), '#!/none')
    expect(await notify()).toBe('sendmail cannot be run: ENOENT')
    installSendmail()
    expect(await notify()).toBeUndefined()
    expect(takeMails()).toMatchObject([{ to: ada, subject: 'Cloud Atlas was approved' }])
  })

  test('between two mails repeats those of its run, and no others', async () => {
    const { decide, notify, takeMails, folder, installSendmail } = await startNotifying()
    await decide('reject', apps.pending, 'Spam.')
    expect(await notify()).toBeUndefined()
    expect(takeMails()).toHaveLength(1)
    await decide('approve', apps.pending)
    await decide('approve', apps.bobsPending)
    writeFileSync(join(folder, 'sendmail'), `#!/bin/sh\nrm "${folder}/sendmail"\n`)
    expect(await notify()).toBe('sendmail cannot be run: ENOENT')
    installSendmail()
    for (let run = 0; run < 2; run++) expect(await notify()).toBeUndefined()
    expect(takeMails()).toMatchObject([
      { to: ada, subject: 'Cloud Atlas was approved' },
      { to: bob, subject: 'Night Train was approved' },
    ])
  })

  test('of the webhook does not repeat mails', async () => {
    const { decide, notify, takeMails, folder } = await startNotifying()
    const both = { NOTIFY_WEBHOOK: `http://127.0.0.1:${await freePort()}/` }
    // Its first run begins at the end.
    expect(await notify(both)).toBeUndefined()
    const told = readFileSync(join(folder, 'notified'), 'utf8')
    await decide('approve', apps.pending)
    const unreachable = 'the webhook cannot be reached: ECONNREFUSED'
    expect(await notify(both)).toBe(unreachable)
    expect(takeMails()).toMatchObject([{ to: ada }])
    expect(await notify(both)).toBe(unreachable)
    expect(takeMails()).toEqual([])
    expect(readFileSync(join(folder, 'notified'), 'utf8')).toBe(told)
  })

  test('of a mail does not repeat what moderators get', async () => {
    const { decide, notify, takeMails, changeContact } = await startNotifying()
    const both = { NOTIFY_MAIL: 'moderators@example.org' }
    // Its first run begins at the end.
    expect(await notify(both)).toBeUndefined()
    await changeContact('Ada', 'wrong@example.org')
    await decide('approve', apps.pending)
    expect(await notify(both)).toBe('no mail to Ada: sendmail exited with 67')
    expect(takeMails()).toMatchObject([{ to: 'moderators@example.org' }])
    expect(await notify(both)).toBeUndefined()
    expect(takeMails()).toEqual([])
  })
})

test('settings that are missing or wrong are reported together', async () => {
  const { notify } = await startNotifying()
  expect(await notify({ NOTIFY_OWNERS: '' })).toBe(
    'set NOTIFY_WEBHOOK, NOTIFY_MAIL or NOTIFY_OWNERS=1',
  )
  expect(await notify({ NOTIFY_OWNERS: 'yes', BASE_URL: '' })).toMatch(
    /^NOTIFY_OWNERS must be 1; BASE_URL must be /,
  )
})
