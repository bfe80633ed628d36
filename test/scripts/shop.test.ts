import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'

/** `make shop`, which serves examples/shop-window/. */

const script = `${import.meta.dirname}/../../scripts/shop.ts`

/** Starts it in a directory with this `.env`. */
function startShop(env: Record<string, string>, settings = '') {
  const cwd = mkdtempSync(join(tmpdir(), 'apps-shop-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, '.env'), settings)
  const child = spawn(process.execPath, [script], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Its address, and that of the catalogue it shows. */
async function serveShop(
  env: Record<string, string>,
  settings?: string,
): Promise<[string, string]> {
  const { stdout } = startShop({ SHOP_PORT: '0', ...env }, settings)
  const [line]: string[] = await once(createInterface({ input: stdout }), 'line')
  const [shop = '', catalogue = ''] = line?.match(/http[^\s,]+/g) ?? []
  return [shop, catalogue]
}

test('serves only the files of the example, to this machine', async () => {
  const [shop] = await serveShop({})
  const typeOf = async (path: string) => {
    const { status, headers } = await fetch(shop + path)
    return [path, status === 200 ? headers.get('content-type') : status]
  }
  const paths = [
    '/',
    '/?app=a',
    '/theme.css',
    '/style.css',
    '/shop.js',
    '/index.html',
    '/../shop.ts',
  ]
  expect(await Promise.all(paths.map(typeOf))).toEqual([
    ['/', 'text/html; charset=utf-8'],
    ['/?app=a', 'text/html; charset=utf-8'],
    ['/theme.css', 'text/css; charset=utf-8'],
    ['/style.css', 'text/css; charset=utf-8'],
    ['/shop.js', 'text/javascript; charset=utf-8'],
    ['/index.html', 404],
    ['/../shop.ts', 404],
  ])
  // Another address of this machine.
  await expect(fetch(shop.replace('localhost', '127.0.0.2'))).rejects.toThrow()
})

test('names the catalogue of make run in its page', async () => {
  const [shop, catalogue] = await serveShop({ BASE_URL: 'http://a.test/x/' })
  expect(catalogue).toBe('http://a.test/x')
  expect(await (await fetch(shop)).text()).toContain('<meta name="api" content="http://a.test/x">')
})

test.for<[what: string, env: Record<string, string>, catalogue: string]>([
  ['.env', {}, 'http://localhost:4321'],
  ['the environment before .env', { PORT: '4322' }, 'http://localhost:4322'],
  ['API_URL before both', { API_URL: 'http://b.test', PORT: 'none' }, 'http://b.test'],
])('takes the address of the catalogue from %s', async ([, env, catalogue]) => {
  expect((await serveShop(env, 'PORT=4321\n'))[1]).toBe(catalogue)
})

test('says what is wrong with a port', async () => {
  const [shop] = await serveShop({})
  const taken = new URL(shop).port
  for (const [env, message] of [
    [{ SHOP_PORT: taken }, `Port ${taken} is in use`],
    [{ SHOP_PORT: 'eighty' }, 'not "eighty"'],
    [{ PORT: 'none' }, 'PORT must be a whole number'],
  ] as const) {
    const child = startShop(env)
    const printed = text(child.stderr)
    expect(await once(child, 'exit')).toEqual([1, null])
    expect(await printed).toContain(message)
  }
})
