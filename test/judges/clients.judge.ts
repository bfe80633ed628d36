import { execFile } from 'node:child_process'
import { copyFile, readdir, readFile, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Connect } from './clients/contract.ts'
import { lifeCycle } from './life-cycle.ts'

const judges = import.meta.dirname
const root = `${judges}/../..`

const run = promisify(execFile)
/** npx must find what is installed, and never fetch anything. */
const env = { PATH: `${root}/node_modules/.bin:${process.env.PATH}`, npm_config_offline: 'true' }

/** README's table: what it tells a reader to do is what is done here. */
const readme = await readFile(`${root}/README.md`, 'utf8')
const clients = [...readme.matchAll(/^\| ([\w-]+) +\| `npm i -D (.+?)` +\| `(npx .+?)` +\|$/gm)].map(
  ([, client = '', packages = '', command = '']) => ({ client, packages: packages.split(' '), command }),
)

test('README names each client that is judged', async () => {
  const entries = await readdir(`${judges}/clients`, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  expect(clients.map(({ client }) => client).toSorted()).toEqual(folders.toSorted())
})

describe.each(clients)('$client', ({ client, packages, command }) => {
  const folder = `${judges}/clients/${client}`

  beforeAll(async () => {
    for (const name of await readdir(folder)) {
      if (name.startsWith('apps-api')) await rm(`${folder}/${name}`, { recursive: true })
    }
    await copyFile(`${root}/generated/openapi.json`, `${folder}/openapi.json`)
    await run('sh', ['-c', command], { cwd: folder, env })
  })

  test('is of the versions that README names', async () => {
    expect(await Promise.all(packages.map(installed))).toEqual(packages)
  })

  test('compiles and loses no type', async () => {
    const { stdout } = await run('tsc', ['-p', folder], { env }).catch((failure) => failure)
    expect(stdout).toBe('')
  })

  test('completes a life cycle', async () => {
    const { connect }: { connect: Connect } = await import(`./clients/${client}/adapter.ts`)
    await lifeCycle(connect)
  })
})

/** The same name with the version that is installed here. */
async function installed(spec: string): Promise<string> {
  const name = spec.slice(0, spec.lastIndexOf('@'))
  const file = `node_modules/${name}/package.json`
  const text = await readFile(`${judges}/${file}`, 'utf8').catch(() => readFile(`${root}/${file}`, 'utf8'))
  return `${name}@${JSON.parse(text).version}`
}
