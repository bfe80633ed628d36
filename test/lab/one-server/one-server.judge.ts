import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import document from '../../../generated/openapi.json' with { type: 'json' }
import released from '../../../generated/released.json' with { type: 'json' }
import { isInstalled } from '../../judges/tools.ts'
import { check } from '../../support/check.ts'
import { temporaryFolder } from '../../support/database.ts'
import { share } from '../../support/lifetime.ts'
import { settingLines } from '../../support/setting-lines.ts'
import { bootMachine, canBoot, type Machine } from './machine.ts'

/**
 * "One server" and "Upgrade" of docs/running.md, word by word, on a machine with systemd and Caddy.
 * Only the host name, the installation of packages and, before a release, the version differ.
 */

const root = join(import.meta.dirname, '../../..')
const page = readFileSync(join(root, 'docs/running.md'), 'utf8')
const { version } = document.info
const name = `apps-service-${version}`
const nextVersion = '99.0.0'
const upgradeVariables = `OLD=${version} NEW=${nextVersion}`

/** The shell commands of a section. */
function commandsOf(section: string): string[] {
  const [, text = ''] = page.split(`\n## ${section}\n`)
  const [own = ''] = text.split('\n## ')
  return [...own.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, commands = '']) => commands)
}

/** The commands of "Upgrade", from this version to the next one. */
const upgradeCommands = () =>
  commandsOf('Upgrade').map((commands) => commands.replace(/OLD=\S+ NEW=\S+/, upgradeVariables))

/**
 * The archive of `make package` and one of a next version, with the files of the clone, which may
 * differ from the last commit.
 */
function packVersions(): string {
  const folder = temporaryFolder()
  const archive = join(root, 'dist', `${name}-linux-${process.arch}.tar.gz`)
  execFileSync('tar', ['xzf', archive], { cwd: folder })
  const sums = [version, nextVersion].map((packed) => {
    const directory = `apps-service-${packed}`
    const file = `${directory}-linux-x64.tar.gz`
    if (packed === nextVersion) execFileSync('mv', [name, directory], { cwd: folder })
    for (const part of ['apps-service', 'deploy', 'src'])
      cpSync(join(root, part), join(folder, directory, part), { recursive: true })
    execFileSync('tar', ['-c', '--use-compress-program=gzip -1', '-f', file, directory], {
      cwd: folder,
    })
    const hash = createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex')
    return `${hash}  ${file}\n`
  })
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  return folder
}

const canRun = canBoot && ['caddy', 'sudo'].every(isInstalled)

describe.skipIf(!canRun)(
  'one server: needs root, and apt-get install caddy sudo systemd-container',
  () => {
    let machine: Machine
    let key: string

    /** Runs a script that succeeds, and returns its output. */
    async function run(script: string): Promise<string> {
      const { code, stdout, stderr } = await machine.run(`
        cd /srv/files
        export CURL_CA_BUNDLE=/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt
        ${script}`)
      expect(code, `${script}\n${stdout}${stderr}`).toBe(0)
      return stdout
    }

    /** Sends a request through the proxy, and checks the response. */
    async function send(method: string, path: string, body?: object, ...added: string[]) {
      const more = [
        ...(body ? [`-H 'Content-Type: application/json' --data '${JSON.stringify(body)}'`] : []),
        ...added,
      ]
      const options = `--silent --show-error --max-time 60 --include ${more.join(' ')}`
      const output = await run(`curl ${options} --request ${method} 'https://localhost${path}'`)
      const [head = '', ...rest] = output.split('\r\n\r\n')
      const [statusLine = '', ...lines] = head.split('\r\n')
      const headers = Object.fromEntries(
        lines.map((line) => {
          const [name = '', ...value] = line.split(': ')
          return [name.toLowerCase(), value.join(': ')]
        }),
      )
      // Headers of the proxy itself.
      const { server: _, 'alt-svc': __, ...declared } = headers
      return check({
        method,
        path,
        status: Number(statusLine.split(' ')[1]),
        headers: declared,
        text: rest.join('\r\n\r\n'),
      })
    }

    const authorized = () => `-H 'Authorization: Bearer ${key}'`
    /** Reads wait in the proxy. */
    const untilReady = () => send('GET', '/apps')
    const app = (name: string) => ({ name, description: 'The tides.', category_id: 1 })
    const create = (name: string) => send('POST', '/apps', app(name), authorized())
    const backups = async () =>
      (await run('ls /var/backups/apps-service')).trim().split('\n').filter(Boolean)

    share(async () => {
      machine = await bootMachine(packVersions())
      await run(`
        useradd --create-home ada
        echo 'ada ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/ada`)
    })

    test('the page sets it up', async () => {
      const [unpack = '', start = '', fill = ''] = commandsOf('One server')
      expect(unpack).toContain(`VERSION=${released.info.version} `)
      const output = await run(
        [unpack, start, fill]
          .join('')
          .replace(/VERSION=\S+ DOMAIN=\S+/, `VERSION=${version} DOMAIN=localhost`)
          .replace(/^.*apt-get .*$/m, ''),
      )
      expect(output).toContain('The service is ready.')
      expect(output).toContain('Added category 1: Games (games).')
      key = output.trim().split('\n').at(-1) ?? ''
    })

    test('a person with sudo approves an app, which others see through the proxy', async () => {
      expect((await create('Tide Clock')).status).toBe(201)
      const commands = commandsOf('One server')[3] ?? ''
      expect(commands).toContain('sudo apps-service moderation approve 1\n')
      // Her .env has settings of something else.
      await run(`su - ada <<< 'echo READ_LIMIT=lots > .env\n${commands.replaceAll("'", '')}'`)
      const { body } = await send('GET', '/apps')
      expect(body.data.apps).toMatchObject([{ id: 1, name: 'Tide Clock' }])
      expect(await run('apps-service audit --app 1 --json')).toMatch(
        /"operator": ?"apps-service",\s*"operator_name": ?"ada"/,
      )
      expect(await run('cat /home/ada/catalogue.ndjson')).toContain('Tide Clock')
    })

    test('only root and the service read the settings, the database and the backups', async () => {
      for (const path of [
        '/etc/apps-service/apps-service.env',
        '/var/lib/apps-service/apps.sqlite',
        '/var/backups/apps-service',
      ])
        expect(await run(`su ada -c 'cat ${path} 2>&1 || true'`)).toMatch(/Permission denied/)
      const { code, stderr } = await machine.run(`su ada -c 'apps-service status'`)
      expect([code, stderr]).toEqual([1, expect.stringContaining('Run: sudo apps-service status')])
    })

    test('the server listens on the loopback address only, and the moderation page beside it', async () => {
      await run('ip address add 192.0.2.1/32 dev lo')
      await run('systemctl enable --now apps-service-moderation')
      const status = (url: string) =>
        run(`curl --silent --output /dev/null --write-out '%{http_code}' ${url} || true`)
      await expect
        .poll(() => status('http://127.0.0.1:3001/healthz'), { timeout: 20_000 })
        .toBe('200')
      expect(await status('http://127.0.0.1:3000/healthz')).toBe('200')
      expect(await status('http://192.0.2.1:3000/healthz')).toBe('000')
      expect(await status('http://192.0.2.1:3001/healthz')).toBe('000')
      expect(
        await status('--insecure --resolve localhost:443:192.0.2.1 https://localhost/apps'),
      ).toBe('200')
    })

    test('messages about decisions keep their place in the directory of the service', async () => {
      await run(`
        install -D --mode=600 /dev/null /etc/apps-service/notify.env
        echo NOTIFY_WEBHOOK=http://127.0.0.1:1/ > /etc/apps-service/notify.env
        systemctl start apps-service-notify`)
      expect(await run('cat /var/lib/apps-service/notified')).toMatch(/^\{"place":[1-9]\d*,/)
    })

    test('an owner gets a decision by mail', async () => {
      await run(`
        echo NOTIFY_OWNERS=1 > /etc/apps-service/notify.env
        printf '#!/bin/sh\\ncat > /var/lib/apps-service/mail\\n' > /usr/local/bin/sendmail
        chmod 755 /usr/local/bin/sendmail
        apps-service developer contact "Harbour Software" ada@example.org
        systemctl start apps-service-notify
        apps-service moderation reject 1 --reason 'Broken links.'
        systemctl start apps-service-notify
        apps-service moderation approve 1`)
      expect(await run('cat /var/lib/apps-service/mail')).toMatch(
        /^To: ada@example\.org\nSubject: Tide Clock was taken down\n/,
      )
    })

    test('the settings are read by the rules of systemd', async () => {
      for (const [text, variables] of settingLines) {
        const output = await run(`
          base64 --decode <<< '${Buffer.from(text).toString('base64')}' > /run/lines.env
          systemd-run --quiet --wait --pipe --property=EnvironmentFile=/run/lines.env env -0`)
        const ofTheFile = output.split('\0').filter((line) => /^[A-D]=/.test(line))
        const expected = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
        expect([text, ofTheFile.toSorted()]).toEqual([text, expected])
      }
    })

    test('a value that the command accepts is one that the server starts with, and back', async () => {
      const file = '/etc/apps-service/apps-service.env'
      await run(`cp ${file} /run/settings.env`)
      for (const [line, isValid] of [
        ['CONTACT_URL=https://apps.example.org/#contact', true],
        ['export PORT=none', true],
        ['#', true],
        ["CONTACT_URL='https://apps.example.org/#contact' ", true],
        ['CONTACT_URL=https://apps.example.org # ours', false],
        ['READ_LIMIT=10 # a minute', false],
      ] as const) {
        const { code } = await machine.run(`
          cp /run/settings.env ${file}
          cat >> ${file} <<'END'\n${line}\nEND
          apps-service status`)
        const started = await machine.run(
          'systemctl reset-failed apps-service; systemctl restart apps-service',
        )
        expect([line, code === 0, started.code === 0]).toEqual([line, isValid, isValid])
      }
      await run(`
        cp /run/settings.env ${file}
        systemctl reset-failed apps-service
        systemctl restart apps-service`)
      await untilReady()
    })

    test('refused keys count for the address of the client, whatever its X-Forwarded-For says', async () => {
      await run(`
        echo REFUSED_KEY_LIMIT=3 >> /etc/apps-service/apps-service.env
        systemctl restart apps-service`)
      await untilReady()
      const guess = (from: string, forged: string) =>
        send(
          'POST',
          '/apps',
          app('Guess'),
          "-H 'Authorization: Bearer apps_wrong'",
          `-H 'X-Forwarded-For: ${forged}'`,
          `--resolve localhost:443:127.0.0.1 --interface ${from}`,
        ).then(({ status }) => status)
      const statuses = []
      for (let n = 1; n <= 4; n++) statuses.push(await guess('127.0.0.1', `198.51.100.${n}`))
      expect(statuses).toEqual([401, 401, 401, 429])
      expect(await guess('127.0.0.2', '127.0.0.1')).toBe(401)
    })

    test('while the server is stopped, reads wait, and writes get a declared response', async () => {
      await run('systemctl stop apps-service')
      const refused = await create('Lost')
      expect(refused).toMatchObject({ status: 503, body: { data: { code: 'unavailable' } } })
      const read = untilReady()
      await run('systemctl start apps-service')
      expect((await read).status).toBe(200)
    })

    /** Backups of the timer's unit, oldest first. */
    const nightly = async () => (await backups()).filter((name) => /^apps-\d/.test(name))

    test('the timer backs up', async () => {
      await run(`
        mkdir --parents /etc/systemd/system/apps-service-backup.timer.d
        cat > /etc/systemd/system/apps-service-backup.timer.d/soon.conf <<< '[Timer]
        OnCalendar=
        OnCalendar=*:*:0/3
        RandomizedDelaySec=0'
        systemctl daemon-reload
        systemctl restart apps-service-backup.timer`)
      await expect.poll(nightly, { timeout: 60_000 }).not.toEqual([])
      await run('systemctl stop apps-service-backup.timer')
    })

    test('the export is published, and the proxy serves it to everybody', async () => {
      await run('systemctl start apps-service-export')
      const read = (path: string) => run(`curl --silent --fail 'https://localhost/export/${path}'`)
      const { all } = JSON.parse(await read('index.json'))
      expect(await run(`curl --silent 'https://localhost/export/${all.file}' | gunzip`)).toContain(
        'Tide Clock',
      )
      expect((await machine.run(`su ada -c 'touch /var/cache/apps-service-export/x'`)).code).toBe(1)
    })

    test('the unit of a mirror reads an export, and refuses a database with keys', async () => {
      const file = '/etc/apps-service/apps-service.env'
      const { code } = await machine.run(`
        cp ${file} /run/settings.env
        install -m 644 /var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt /etc/apps-service/
        echo NODE_EXTRA_CA_CERTS=/etc/apps-service/root.crt >> ${file}
        echo MIRROR_URL=https://localhost/export/index.json >> ${file}
        systemctl start apps-service-mirror`)
      expect(code).toBe(1)
      expect(await run('journalctl --unit=apps-service-mirror --output=cat')).toMatch(
        / keys .*\n.*mirror\.ndjson\.gz was not imported/,
      )
      await run(`cp /run/settings.env ${file} && systemctl reset-failed`)
    })

    test('each night adds a backup, and the newest are kept', async () => {
      await run(`
        echo KEEP=3 >> /etc/apps-service/apps-service.env
        systemctl stop apps-service-backup
        rm /var/backups/apps-service/apps-20*
        touch /var/backups/apps-service/apps-other.sqlite`)
      const nights: string[][] = []
      for (const night of ['first', 'second', 'third', 'fourth', 'fifth']) {
        expect((await create(`App of the ${night} night`)).status).toBe(201)
        // The name of a backup has its second.
        await run(
          'while [ -e $(date -u +/var/backups/apps-service/apps-%FT%H-%M-%SZ.sqlite) ]; do sleep 0.1; done',
        )
        // systemd refuses more than five starts in ten seconds.
        await run(`
          systemctl reset-failed apps-service-backup
          systemctl start apps-service-backup`)
        nights.push(await nightly())
      }
      expect(nights.map((kept) => kept.length)).toEqual([1, 2, 3, 3, 3])
      expect(nights.at(-1)?.[0]).toBe(nights[2]?.[2])
      expect(await backups()).toContain('apps-other.sqlite')
    })

    test('a backup that fails deletes none, and its unit says so', async () => {
      const before = await backups()
      await run(`
        chmod a-w /var/backups/apps-service
        if systemctl start apps-service-backup; then exit 1; fi
        chmod u+w /var/backups/apps-service`)
      expect(await backups()).toEqual(before)
      expect(await run('systemctl --failed --plain --no-legend')).toContain('apps-service-backup')
      await run('systemctl reset-failed')
    })

    const names = async () => {
      const { body } = await send('GET', '/developer/apps', undefined, authorized())
      return body.data.apps.map(({ name }: { name: string }) => name).toSorted()
    }

    test('the page restores the backup of the third night', async () => {
      const [, , , , restore = ''] = commandsOf('One server')
      const [third = ''] = await nightly()
      expect(restore).toContain('apps-2026-11-28T03-12-45Z.sqlite')
      await run(restore.replace('apps-2026-11-28T03-12-45Z.sqlite', third))
      expect(await names()).toEqual([
        'App of the first night',
        'App of the second night',
        'App of the third night',
        'Tide Clock',
      ])
    })

    test('the page restores nothing, and starts the server again, if the backup does not exist', async () => {
      const [, , , , restore = ''] = commandsOf('One server')
      const before = await names()
      // A person's shell goes on after an error.
      const { stderr } = await machine.run(`set +e\n${restore}`)
      expect(stderr).toContain('no such file or directory')
      await untilReady()
      expect(await names()).toEqual(before)
    })

    test('the server does not replace a lost database by an empty one', async () => {
      const file = '/var/lib/apps-service/apps.sqlite'
      const { code, stderr } = await machine.run(`
        systemctl stop apps-service
        mv ${file} ${file}.lost
        systemctl start apps-service`)
      expect([code, stderr]).toEqual([1, expect.stringContaining('Assertion failed')])
      await run(`
        [ ! -e ${file} ]
        mv ${file}.lost ${file}
        systemctl start apps-service`)
      await untilReady()
    })

    test('the moderation page stops and starts with the server', async () => {
      const state = async () =>
        (await machine.run('systemctl is-active apps-service-moderation')).stdout
      expect(await state()).toBe('active\n')
      await run('systemctl stop apps-service')
      expect(await state()).toBe('inactive\n')
      await run('systemctl start apps-service')
      expect(await state()).toBe('active\n')
    })

    test('the page upgrades, without a write that was acknowledged and is lost', async () => {
      const [check = '', change = ''] = upgradeCommands()
      const before = await names()
      await run(check)
      const during = Promise.all(
        ['One', 'Two', 'Three'].map((name) => create(name).then(({ status }) => [name, status])),
      )
      await run(`${upgradeVariables}\n${change}`)
      const created = (await during).filter(([, status]) => status === 201).map(([name]) => name)
      expect(await names()).toEqual([...before, ...created].toSorted())
      expect(await run('readlink /opt/apps-service')).toBe(`apps-service-${nextVersion}\n`)
      expect((await create('Four')).status).toBe(201)
      expect(await run('ls /var/backups/apps-service')).not.toContain('trial')
    })

    test('the page goes back to the old version and its backup', async () => {
      const [, , back = ''] = upgradeCommands()
      await run(back)
      expect(await names()).not.toContain('Four')
      expect(await run('readlink /opt/apps-service')).toBe(`${name}\n`)
      expect((await create('Five')).status).toBe(201)
    })
  },
)
