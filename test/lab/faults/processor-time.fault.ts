import { readdirSync, readFileSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import document from '../../../generated/openapi.json' with { type: 'json' }
import { type Operation, operationsOf } from '../../contract/operations.ts'
import { newApp } from '../../contract/valid-requests.ts'
import { units } from '../../contract/values.ts'
import { exchange } from '../../faults/sockets.ts'
import { copyWorldFile } from '../../support/database.ts'
import { type Served, serve } from '../../support/process.ts'

/** Bytes of a request. Node refuses a head of more than 16 KiB before the service sees it. */
const requestSize = 16_000
/**
 * Milliseconds of processor time that a request may take, on a machine as fast as the one below.
 */
const limit = 20
/**
 * Milliseconds of processor time of an ordinary request, on the machine where the limit was set.
 */
const ordinaryThere = 0.6
/**
 * Garbage collection and compilation may fall into a measurement, so an expensive request is
 * measured again.
 */
const rounds = 6

type Encoding = (character: string) => string
const plain: Encoding = (character) => character
const percentEncoded: Encoding = (character) =>
  Buffer.from(character).toString('hex').replace(/../g, '%$&')
const jsonEscaped: Encoding = (character) => JSON.stringify(character).slice(1, -1)

type Request = {
  method: string
  target: string
  headers?: string[]
  hasKey?: boolean
  body?: string | undefined
  isLast?: boolean
}

const textOf = ({ method, target, headers = [], hasKey = false, body, isLast = false }: Request) =>
  [
    `${method} ${target} HTTP/1.1`,
    ...headers,
    'Host: x',
    ...(isLast ? ['Connection: close'] : []),
    ...(hasKey ? [`Authorization: Bearer ${inject('world').keys.ada}`] : []),
    ...(body === undefined
      ? []
      : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
    '',
    body ?? '',
  ].join('\r\n')

/**
 * A part of a request that a run of one character can fill, and how a character may be written
 * there.
 */
type Place = { name: string; filled: (run: string) => Request; encodings: Encoding[] }

const targetPlace = (
  method: string,
  begin: string,
  end = '',
  rest: Omit<Request, 'method' | 'target'> = {},
): Place => ({
  name: `${method} ${begin}…${end}`,
  filled: (run) => ({ ...rest, method, target: `${begin}${run}${end}` }),
  encodings: [plain, percentEncoded],
})

const headerPlace = (request: Request, begin: string, end = ''): Place => ({
  name: `${request.method} ${request.target} with ${begin}…${end}`,
  // Of two headers with the same name, Node takes the first, so it comes before those of an
  // ordinary request.
  filled: (run) => ({ ...request, headers: [`${begin}${run}${end}`] }),
  encodings: [plain],
})

const bodyPlace = (
  request: Request,
  begin: string,
  end: string,
  encoding = jsonEscaped,
): Place => ({
  name: `${request.method} ${request.target} with the body ${begin}…${end}`,
  filled: (run) => ({ ...request, body: `${begin}${run}${end}` }),
  encodings: [encoding],
})

/** Some begin with what is valid, so that the run is read by the code that looks behind that. */
const headers = [
  ...[
    'Accept: ',
    'Accept: application/json;q=',
    'Accept-Encoding: ',
    'Accept-Encoding: gzip;q=',
    'Accept-Language: ',
  ],
  ...['Authorization: ', 'Authorization: Bearer ', 'Authorization: Bearer apps_'],
  ...['Cache-Control: ', 'Content-Encoding: ', 'Content-Type: ', 'Content-Type: application/json;'],
  ...[
    'Content-Type: application/json;charset',
    'Content-Type: application/json;charset=',
    'Cookie: ',
    'Cookie: a=',
  ],
  ...[
    'Expect: ',
    'Forwarded: for=',
    'Host: ',
    'If-Match: ',
    'If-Match: "',
    'If-Match: W/"',
    'If-Modified-Since: ',
  ],
  ...['If-None-Match: ', 'If-None-Match: "', 'If-None-Match: W/"', 'Origin: ', 'Origin: https://'],
  ...[
    'Range: ',
    'Range: bytes=',
    'Referer: ',
    'User-Agent: ',
    'X-Forwarded-For: ',
    'X-Request-Id: ',
    'X-Unknown: ',
  ],
]

const commonPlaces: Place[] = [
  ...['/', '//', '/apps?', '/apps?a=', '/apps/1?', '/docs/', '/healthz?'].map((begin) =>
    targetPlace('GET', begin),
  ),
  ...['Origin: ', 'Access-Control-Request-Headers: '].map((begin) =>
    headerPlace({ method: 'OPTIONS', target: '/apps' }, begin),
  ),
  ...[
    { method: 'GET', target: '/apps' },
    { method: 'POST', target: '/apps', hasKey: true, body: '{}' },
  ].flatMap((request) => [
    ...headers.map((begin) => headerPlace(request, begin)),
    headerPlace(request, 'X', ': a'),
  ]),
]

/** The parameters and fields that the document names, and those that it does not. */
function placesOf({ method, path, parameters, body, needsKey }: Operation): Place[] {
  const request = {
    method,
    target: path.replaceAll(/\{\w+\}/g, '1'),
    hasKey: needsKey,
    body: body && JSON.stringify(newApp),
  }
  const places = parameters.map(({ name, in: place }) => {
    if (place === 'header') return headerPlace(request, `${name}: `)
    if (place === 'query') return targetPlace(method, `${request.target}?${name}=`, '', request)
    const [begin = '', end = ''] = path.split(`{${name}}`)
    return targetPlace(method, begin, end, request)
  })
  if (!body) return places
  const fields = Object.keys(body.properties ?? {}).map((field) => {
    const others = JSON.stringify({ ...newApp, [field]: undefined }).slice(0, -1)
    return bodyPlace(request, `${others},"${field}":"`, '"}')
  })
  return [...places, ...fields, bodyPlace(request, '{"', '":1}'), bodyPlace(request, '', '', plain)]
}

/**
 * The place filled with a run. A different character ends the run, which is where a pattern would
 * begin to backtrack.
 */
function requestText({ filled }: Place, encoding: Encoding, character: string): string {
  const written = encoding(character)
  const end = encoding('!')
  const room = requestSize - Buffer.byteLength(textOf(filled(end)))
  return textOf(filled(written.repeat(room / Buffer.byteLength(written)) + end))
}

function* hostileRequests() {
  for (const place of [...commonPlaces, ...operationsOf(document).flatMap(placesOf)]) {
    for (const encoding of place.encodings) {
      for (const character of units) {
        const name = `${place.name} filled with ${JSON.stringify(encoding(character))}`
        yield { name, text: requestText(place, encoding, character) }
      }
    }
  }
}

type Clock = (server: Served) => number

/** Milliseconds for which a thread of the server has run on a processor. */
const threadTime = (pid: number | undefined, thread: string) =>
  Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6

/** The same of all its threads. */
const processorTime: Clock = ({ process: { pid } }) =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + threadTime(pid, thread), 0)

/** The same of the thread that runs JavaScript. */
const eventLoopTime: Clock = ({ process: { pid } }) => threadTime(pid, `${pid}`)

/**
 * Sends a request until it takes no more than the bound, `rounds` times at most; the least that it
 * took.
 */
async function measure(
  server: Served,
  requestOf: (round: number) => string,
  bound: number,
  clock = processorTime,
) {
  let answer = ''
  let milliseconds = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds && milliseconds > bound; round++) {
    const request = requestOf(round)
    const before = clock(server)
    // The second request is answered after the access log has a line for the first.
    answer = await exchange(
      server.port,
      `${request}${textOf({ method: 'GET', target: '/healthz', isLast: true })}`,
    )
    milliseconds = Math.min(milliseconds, clock(server) - before)
  }
  return { milliseconds, status: answer.slice(9, 12) }
}

test('no request of 16 KiB takes much processor time, whatever character fills a part of it', async () => {
  const server = await serve(`sqlite:${copyWorldFile()}`)
  let ordinary = Number.POSITIVE_INFINITY
  for (let time = 0; time < 300; time++) {
    const { milliseconds } = await measure(
      server,
      () => textOf({ method: 'GET', target: '/apps/1' }),
      limit,
    )
    ordinary = Math.min(ordinary, milliseconds)
  }
  const bound = limit * Math.max(1, ordinary / ordinaryThere)

  const measured: { name: string; milliseconds: number }[] = []
  const statuses: Record<string, number> = {}
  for (const { name, text } of hostileRequests()) {
    const { milliseconds, status } = await measure(server, () => text, bound)
    measured.push({ name, milliseconds })
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  const descriptions = measured
    .toSorted((a, b) => b.milliseconds - a.milliseconds)
    .map(({ name, milliseconds }) => `${milliseconds.toFixed(1)} ms: ${name}`)
  console.log(
    `${measured.length} requests of 16 KiB:`,
    statuses,
    `${ordinary.toFixed(1)} ms for an ordinary one`,
  )
  console.log(descriptions.slice(0, 5).join('\n'))
  expect(
    descriptions.slice(0, measured.filter(({ milliseconds }) => milliseconds > bound).length),
  ).toEqual([])
  // Such are refused before the service sees them.
  expect(statuses[431]).toBeUndefined()
})

const { maxLength } = document.components.schemas.NewAppDescription

/** The update of a listed app, another one in each round, since an equal one changes nothing. */
const describe = (description: string, round: number) =>
  textOf({
    method: 'PUT',
    target: `/apps/${inject('world').apps.approved}`,
    hasKey: true,
    body: JSON.stringify({ description: `${round}${[...description].slice(1).join('')}` }),
  })

/** The longest description, of these characters. */
const filled = (unit: string) => unit.repeat(maxLength / [...unit].length)

/** The longest description in words of five letters, all different: of 26 from the first one on. */
function words(first: string): string {
  const letterOf = (digit: string) =>
    String.fromCodePoint((first.codePointAt(0) ?? 0) + Number.parseInt(digit, 26))
  const all = Array.from({ length: maxLength / 6 }, (_, index) =>
    [...(7 * index).toString(26).padStart(5, '0')].map(letterOf).join(''),
  )
  return all.join(' ')
}

/** Characters that normalization makes longer than any letter of an alphabet. */
const lengthening = Array.from({ length: 0x11_00_00 }, (_, point) =>
  String.fromCodePoint(point),
).filter((character) => character.normalize('NFKC').length > 3)

test('no description keeps the event loop busy more than twice as long as Latin text of as many bytes', async () => {
  const server = await serve(`sqlite:${copyWorldFile()}`)
  const measureText = (text: string, bound: number) =>
    measure(server, (round) => describe(text, round), bound, eventLoopTime)
  const latin = words('a')
  // The first rounds also compile the code.
  await measureText(latin, 0)
  const ofLatin = await measureText(latin, 0)
  const texts = [...lengthening, ...units].map(filled)
  const measured: { share: number; description: string }[] = []
  for (const text of [...texts, ...['Ḁ', '가', 'ぁ', '一'].map(words)]) {
    const expected = (ofLatin.milliseconds * Buffer.byteLength(text)) / Buffer.byteLength(latin)
    const { milliseconds, status } = await measureText(text, 2 * expected)
    // Descriptions that cannot be seen are refused.
    if (status !== '200') continue
    const description = `${milliseconds.toFixed(1)} ms, Latin text ${expected.toFixed(1)}: ${text.slice(0, 20)}`
    measured.push({ share: milliseconds / expected, description })
  }
  expect(measured.length).toBeGreaterThan(lengthening.length)
  const slowest = measured.toSorted((a, b) => b.share - a.share)
  console.log(
    slowest
      .slice(0, 5)
      .map(({ description }) => description)
      .join('\n'),
  )
  expect(slowest.filter(({ share }) => share > 2).map(({ description }) => description)).toEqual([])
})
