import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { HttpResponse } from '../contract/checker.ts'
import type { Scenario } from '../contract/scenarios/scenario.ts'
import { expectResponse, namesOf, scenarioOf, tables } from '../contract/scenarios.ts'
import { check } from '../support/check.ts'
import { send, startService } from '../support/service.ts'

const judges = import.meta.dirname
const document = `${judges}/../../generated/openapi.json`

const noAnswer = 'Prism does not answer'

/** Scenarios that Prism 5.16.0 cannot judge. The test fails if it can. */
type Limit = { reason: string; seen: RegExp; scenarios: string[] }

/** Each read has it. */
const head = 'answers HEAD with the headers of GET'

const limits: Limit[] = [
  {
    reason: 'the document does not declare HEAD and OPTIONS',
    seen: /Prism by itself: 40[45]/,
    scenarios: [
      ...Object.entries(tables)
        .filter(([, table]) => namesOf(table).includes(head))
        .map(([operation]) => `${operation}: ${head}`),
      'paths and methods: answers OPTIONS of the list',
      'paths and methods: answers OPTIONS of an app',
      'paths and methods: allows pages of other origins to read, not to write',
      'paths and methods: answers OPTIONS of the document',
    ],
  },
  {
    reason: 'it accepts the scheme only as "Bearer" (RFC 9110, section 11.1: case-insensitive)',
    seen: /Prism by itself: 401/,
    scenarios: ['createApp: accepts the scheme in any case'],
  },
  {
    reason: 'it does not answer if it cannot parse the body, and sometimes closes the connection',
    seen: /Prism does not answer|Prism closes the connection/,
    scenarios: [
      'createApp: checks the key before the body',
      'createApp: refuses a key for one app, whatever the body',
      'createApp: refuses a read-only key, whatever the body',
      'updateApp: refuses a key for another app, whatever the body',
      'createApp: checks the key before the size of the body',
      'createApp: treats an empty chunked body as missing',
      'createApp: refuses bad JSON',
      'createApp: refuses JSON in another charset',
      'createApp: checks the charset before the size of the body',
      'updateApp: refuses bad JSON',
    ],
  },
  {
    reason: 'it fails at deep nesting',
    seen: /Prism by itself: 500/,
    scenarios: ['createApp: refuses a body that is nested too deeply'],
  },
  {
    reason: 'it forwards what it parsed, which loses repeated names and __proto__',
    seen: /expected 20[01] to be 400/,
    scenarios: [
      'listApps: refuses a parameter named __proto__',
      'createApp: refuses a repeated field',
    ],
  },
]

/** Errors for requests that Prism refuses itself: an unknown path or method, or a missing key. */
const refusals = ['NO_PATH_MATCHED_ERROR', 'NO_METHOD_MATCHED_ERROR', 'UNAUTHORIZED']

const runs = [
  {
    run: 'every response matches the document',
    flags: ['--errors', '--validate-request', 'false'],
    refusals,
    limits: [
      ...limits,
      {
        reason: 'it forwards what it decoded and parsed, which is another body',
        seen: /expected 'invalid_request' to be 'malformed_json'|reading 'map'/,
        scenarios: [
          'createApp: refuses bytes that are not UTF-8',
          'createApp: refuses a body that is text',
          'createApp: refuses a repeated field, however it is escaped',
        ],
      },
    ],
  },
  {
    run: 'every accepted request is one that the document allows',
    flags: ['--errors'],
    refusals: [...refusals, 'UNPROCESSABLE_ENTITY', 'INVALID_CONTENT_TYPE'],
    limits: [
      ...limits,
      {
        reason: 'it crashes on a path that cannot be decoded',
        seen: /Prism closes the connection/,
        scenarios: [
          'getApp: refuses a path that cannot be decoded',
          'getApp: reports parameters together with a path that cannot be decoded',
        ],
      },
    ],
  },
]

const all = Object.entries(tables).flatMap(([operation, table]) =>
  namesOf(table).map((name) => `${operation}: ${name}`),
)

describe.for(runs)('$run', ({ run, flags, refusals, limits }) => {
  const prism = startPrism(flags)
  const judged = { 'answered by the service': 0, 'refused by Prism': 0, 'beyond Prism': 0 }

  describe.for(Object.entries(tables))('%s', ([operation, table]) => {
    test.for(namesOf(table))('%s', async (name) => {
      const service = await startService()
      const scenario = scenarioOf(table, name, service.world)
      const limit = limits.find(({ scenarios }) => scenarios.includes(`${operation}: ${name}`))
      if (limit) {
        const timeout = limit.seen.test(noAnswer) ? 1_000 : 20_000
        await expect(judge(scenario, service.port, timeout), limit.reason).rejects.toThrow(
          limit.seen,
        )
        judged['beyond Prism'] += 1
      } else judged[await judge(scenario, service.port, 20_000)] += 1
    })
  })

  test('judges every scenario', () => {
    const counts = Object.entries(judged).map(([what, count]) => `${count} ${what}`)
    console.info(`${run}: ${all.length} scenarios, ${counts.join(', ')}`)
    expect(new Set(all).size).toBe(all.length)
    expect(all).toEqual(expect.arrayContaining(limits.flatMap(({ scenarios }) => scenarios)))
    expect(Object.values(judged).reduce((sum, count) => sum + count)).toBe(all.length)
  })

  const page = {
    success: true,
    message: '',
    data: { apps: [], pagination: { current_page: 1, total_pages: 0, per_page: 1 } },
  }
  test.for([
    {
      name: 'a field too few',
      status: 200,
      body: { ...page, data: {} },
      seen: /required property 'apps'/,
    },
    {
      name: 'a field of a wrong type',
      status: 200,
      body: { ...page, success: 'yes' },
      seen: /success must be boolean/,
    },
    { name: 'a header too few', status: 200, body: page, seen: /required property 'x-request-id'/ },
    {
      name: 'a status that is not declared',
      status: 418,
      body: page,
      seen: /Unable to match the returned status/,
    },
  ])('Prism sees $name', async ({ status, body, seen }) => {
    const stub = createHttpServer((_request, response) => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    })
    await once(stub.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => {
      stub.close()
    })
    const { answer } = await prism.send(addressOf(stub).port, ['GET', '/apps'], 60_000)
    expect(answer.headers['sl-violations']).toMatch(seen)
  })

  async function judge(
    scenario: Scenario,
    port: number,
    timeout: number,
  ): Promise<keyof typeof judged> {
    const { answer, reached } = await prism.send(port, scenario.request, timeout)
    if (reached) {
      expect(answer.headers['sl-violations'], answer.text).toBeUndefined()
      expectResponse(scenario, check(answer))
      return 'answered by the service'
    }
    const isKnown = refusals.some((refusal) =>
      answer.text.includes(`"https://stoplight.io/prism/errors#${refusal}"`),
    )
    if (isKnown && scenario.status >= 400) return 'refused by Prism'
    throw new Error(`Prism by itself: ${answer.status} ${answer.text}`)
  }
})

/** The address of a server that listens on a port. */
const addressOf = (server: Server) => server.address() as AddressInfo

/**
 * Prism has one upstream, but each scenario starts its own service: a relay forwards to the current
 * one.
 */
function startPrism(flags: string[]) {
  let port = 0
  let reached = false
  const relay = createServer((socket) => {
    reached = true
    pipeline(socket, connect(port, '127.0.0.1'), socket, () => {
      // Either end may close; pipeline closes the other.
    })
  })
  let running: Promise<{ url: string; stop: () => Promise<void> }> | undefined
  beforeAll(async () => {
    await once(relay.listen(0, '127.0.0.1'), 'listening')
  })
  afterAll(async () => {
    await (await running)?.stop()
    relay.close()
  })
  return {
    send: async (
      to: number,
      request: Scenario['request'],
      timeout: number,
    ): Promise<{ answer: HttpResponse; reached: boolean }> => {
      running ??= startCommand(
        'proxy',
        document,
        `http://127.0.0.1:${addressOf(relay).port}`,
        ...flags,
      )
      const { url, stop } = await running
      port = to
      reached = false
      const answer = await Promise.race([
        send(url, ...request).catch(() => 'disconnected' as const),
        setTimeout(timeout, 'silent' as const),
      ])
      if (typeof answer === 'object') return { answer, reached }
      // It still answers other requests.
      if (answer === 'silent') throw new Error(noAnswer)
      // It has crashed: the next request starts a new one.
      running = undefined
      await stop()
      throw new Error('Prism closes the connection')
    },
  }
}

/** Starts the command `prism`. */
async function startCommand(...args: string[]) {
  const child = spawn(
    `${judges}/node_modules/.bin/prism`,
    [...args, '--port', '0', '--cors', 'false'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  const exited = once(child, 'exit')
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = line.match(/listening on (?<url>\S+)/)?.groups?.url
      if (address !== undefined) resolve(address)
    })
    exited.then(([code]) => reject(new Error(`Prism exited with ${code} before it listened`)))
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
  }
  return { url, stop }
}

let mock: ReturnType<typeof startCommand> | undefined

test.for([
  ['GET', '/apps/42', {}, 200],
  ['GET', '/apps/42', { Prefer: 'code=404' }, 404],
  ['GET', '/apps/42', { Prefer: 'example=rejected' }, 200],
  ['DELETE', '/apps/42', { Authorization: 'Bearer any' }, 200],
  ['DELETE', '/apps/42', {}, 401],
  ['GET', '/apps?limit=0', {}, 400],
] as const)(
  'as a mock server, Prism answers %s %s %o with %s',
  async ([method, path, headers, status]) => {
    mock ??= startCommand('mock', document)
    const { url } = await mock
    expect((await fetch(url + path, { method, headers })).status).toBe(status)
  },
)
afterAll(async () => (await mock)?.stop())
