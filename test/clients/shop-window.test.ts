import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { compileFunction } from 'node:vm'
import { type HTMLInputElement, Window } from 'happy-dom'
import { describe, expect, inject, test, vi } from 'vitest'
import { stopTime, waitForTimer } from '../support/clock.ts'
import { startModerationPage } from '../support/moderation-page.ts'
import { type Service, startService } from '../support/service.ts'

/**
 * The source of examples/shop-window in a DOM without a browser: what it requests and draws for an
 * address, with the real app and with responses that the app gives rarely.
 * test/judges/shop-window.judge.ts has what needs a browser.
 */

const { apps } = inject('world')

const directory = `${import.meta.dirname}/../../examples/shop-window`
const [page, script] = ['index.html', 'shop.js'].map((name) =>
  readFileSync(`${directory}/${name}`, 'utf8'),
)

type Answer = Response | Error | Promise<Response>

/**
 * Opens the shop window at a path. Its requests have these results in turn, by the beginning of
 * their paths; others are sent to the service.
 */
function open(path: string, api: string, answers: Record<string, Answer[]> = {}) {
  const window = new Window({ url: `http://shop.test${path}` })
  const { document } = window
  document.write((page ?? '').replace('content="http://localhost:3000"', `content="${api}"`))
  const requests: string[] = []
  const signals: (AbortSignal | null | undefined)[] = []
  const navigation = addNavigation(window)
  const send = async (url: string, options: RequestInit) => {
    const requested = url.replace(api, '')
    requests.push(requested)
    if (requested.startsWith('/apps')) signals.push(options.signal)
    const prefix = Object.keys(answers).find((prefix) => requested.startsWith(prefix))
    const answer = answers[prefix ?? '']?.shift()
    if (answer instanceof Error) throw answer
    if (answer === undefined) return fetch(url, options)
    // As fetch does.
    const { promise: cancelled, reject } = Promise.withResolvers<never>()
    options.signal?.addEventListener('abort', () => reject(options.signal?.reason))
    return Promise.race([answer, cancelled])
  }
  const globals = { window, document, location: window.location, fetch: send }
  compileFunction(script ?? '', Object.keys(globals))(...Object.values(globals))

  const all = (selector: string) => [...document.querySelectorAll(selector)]
  const texts = (selector: string) => all(selector).map(({ textContent }) => textContent)
  const text = (selector: string) => texts(selector).join()
  const field = document.querySelector('#search') as HTMLInputElement
  const main = document.querySelector('main') as unknown as { ariaBusy: boolean }
  return {
    document,
    Event: window.Event,
    ...navigation,
    /** Whether each request for apps was cancelled. */
    cancelled: () => signals.map((signal) => signal?.aborted),
    typed: () => field.value,
    type: (text: string) => {
      field.value = text
      field.dispatchEvent(new window.Event('input'))
    },
    requests: (prefix = '/') => requests.filter((one) => one.startsWith(prefix)),
    all,
    texts,
    text,
    /** The addresses of links, and of hidden ones nothing. */
    links: (selector: string) =>
      all(selector).map((link) => (link.hasAttribute('hidden') ? '' : link.getAttribute('href'))),
    /** Until it has drawn a result; returns its heading. */
    drawn: async () => {
      await expect.poll(() => main.ariaBusy).toBe(false)
      return text('#heading')
    },
  }
}

/**
 * Adds what the shop window uses of the Navigation API, which happy-dom lacks
 * (https://html.spec.whatwg.org/multipage/nav-history-apis.html#navigation-interface).
 */
function addNavigation(window: Window) {
  type NavigateEvent = {
    canIntercept: boolean
    navigationType: string
    intercept: (options: { handler: () => Promise<void> }) => void
  }
  let onNavigate = (_event: NavigateEvent) => {}
  const navigations: string[] = []
  const navigate = (path: string, { history = 'push' }: { history?: string } = {}) => {
    navigations.push(`${history} ${path}`)
    window.happyDOM.setURL(new URL(path, window.location.href).href)
    const intercept: NavigateEvent['intercept'] = ({ handler }) => void handler()
    onNavigate({ canIntercept: true, navigationType: history, intercept })
  }
  const addEventListener = (_type: string, listener: typeof onNavigate) => {
    onNavigate = listener
  }
  Object.assign(window, { navigation: { addEventListener, navigate } })
  return { navigate, navigations }
}

/** Starts the real app, and opens the shop window on it. */
async function start(
  path: string,
  change: (service: Service) => Promise<unknown> = async () => {},
) {
  const service = await startService()
  await change(service)
  return open(path, `http://127.0.0.1:${service.port}`)
}

const success = (data: object, message = 'So.') => Response.json({ success: true, message, data })
const emptyList = () =>
  success({ apps: [], pagination: { current_page: 1, total_pages: 0, per_page: 24 } })
const refusal = (headers: Record<string, string> = {}) =>
  Response.json(
    { success: false, message: 'Too many reads.', data: { code: 'rate_limited' } },
    { status: 429, headers },
  )

const setCounters = (id: number, counters: object) => (service: Service) =>
  service.database.write(({ sql }) => sql('apps').where({ id }).update(counters))

test('shows the apps and the categories with their counts', async () => {
  const shop = await start('/?sort=popular')
  expect(await shop.drawn()).toBe('All apps')
  expect(shop.text('title')).toBe('All apps – Shop window')
  expect(shop.texts('.card h2')).toEqual(['Tide Clock', 'Bird Song'])
  expect(shop.texts('.card .facts')).toEqual(['4.67 of 5100 downloads', '7 downloads'])
  expect(shop.links('.card a')).toEqual([
    '?sort=popular&app=tide-clock',
    '?sort=popular&app=bird-song',
  ])
  await expect.poll(() => shop.texts('#categories a')).toEqual(['All', 'Empty', 'Games', 'Tools'])
  const counts = shop.all('#categories a').map((link) => link.getAttribute('data-count'))
  expect(counts).toEqual([null, '0', '1', '1'])
})

describe('counts', () => {
  test.for<[count: number, downloads: string, reviews: string]>([
    [0, '0 downloads', '0 reviews'],
    [1, '1 download', '1 review'],
    [2, '2 downloads', '2 reviews'],
    [1000, '1K downloads', '1K reviews'],
    [1_234_567, '1.2M downloads', '1.2M reviews'],
  ])('%d is shown, in the list and of the app', async ([count, downloads, reviews]) => {
    const counters = { total_downloads: count, review_count: count }
    const change = setCounters(apps.bobs, counters)
    const list = await start('/?category=games', change)
    expect([await list.drawn(), list.text('.card .facts')]).toEqual(['Games', downloads])
    const app = await start('/?app=bird-song', change)
    expect(await app.drawn()).toBe('Bird Song')
    expect(app.text('#content > .facts')).toContain(downloads)
    expect(app.text('[data-text=reviews]')).toBe(reviews)
  })

  test.for<[count: number, rating: string]>([
    [0, ''],
    [1, '1 of 5'],
    [4, '2.5 of 5'],
  ])('%d reviews make the rating "%s"', async ([count, rating]) => {
    const shop = await start('/?category=games', ({ addReviews }) => addReviews(apps.bobs, count))
    await shop.drawn()
    expect(shop.text('.card [data-text=rating]')).toBe(rating)
  })
})

test('shows an app with its texts and reviews', async () => {
  const shop = await start('/?category=tools&page=2&app=tide-clock')
  expect(await shop.drawn()).toBe('Tide Clock')
  expect(shop.text('#status')).toBe('High and low water')
  expect(shop.texts('#content .text')).toEqual(['Tide Clock is here.', '', 'Right.', 'Fine.'])
  expect(shop.texts('#content h2')).toEqual(['3 reviews'])
  expect(shop.texts('#content b')).toEqual(['Di', '5', 'Ed', '5', 'Cy', '4'])
  expect(shop.links('#back')).toEqual(['?category=tools&page=2'])
})

describe('the addresses and the licence of an app', () => {
  const linksOf = (shop: ReturnType<typeof open>) =>
    shop
      .all('#content .facts a')
      .map((link) => ['href', 'rel', 'title'].map((name) => link.getAttribute(name)))
  const rel = 'noopener nofollow ugc'

  test('are shown as links that pass on nothing, and as text', async () => {
    const shop = await start('/?app=tide-clock')
    await shop.drawn()
    expect(shop.texts('#content .facts a')).toEqual(['Website', 'Source'])
    const addresses = ['https://tideclock.example.org/', 'https://code.example.org/tide-clock']
    expect(linksOf(shop)).toEqual(addresses.map((address) => [address, rel, address]))
    expect(shop.text('[data-text=license]')).toBe('MIT')
  })

  test('are left out if the app has none', async () => {
    const shop = await start('/?app=bird-song')
    await shop.drawn()
    expect([shop.texts('#content a'), shop.text('[data-text=license]')]).toEqual([[], ''])
  })

  test.for<[website: string, isLink: boolean]>([
    ['http://tide.example/', true],
    ['HTTPS://tide.example/', true],
    ['javascript:alert(1)', false],
    ['httpsx://tide.example/', false],
    ['ftp://tide.example/', false],
    [' https://tide.example/', false],
  ])('are links only if they are of the web: %s', async ([website_url, isLink]) => {
    const source_code_url = 'https://code.example/'
    const app = { id: 1, name: 'A', average_rating: 0, total_downloads: 0, review_count: 0 }
    const addresses = { website_url, source_code_url }
    const shop = open('/?app=a', 'http://api.test', {
      '/apps?': [success({ apps: [app] })],
      '/apps/': [success({ app: { ...app, ...addresses, reviews: [] } })],
      '/categories': [success({ categories: [] })],
    })
    await shop.drawn()
    const linked = [...(isLink ? [website_url] : []), source_code_url]
    expect(linksOf(shop).map(([, , title]) => title)).toEqual(linked)
    expect(new Set(linksOf(shop).map(([, own]) => own))).toEqual(new Set([rel]))
  })
})

describe('the icon of an app', () => {
  const openWith = async (path: string, icon_url?: string) => {
    const app = { id: 1, name: 'Ebb', average_rating: 0, total_downloads: 0, review_count: 0 }
    const shown = { ...app, ...(icon_url && { icon_url }) }
    const pagination = { current_page: 1, total_pages: 1, per_page: 24 }
    const shop = open(path, 'http://api.test', {
      '/apps?': [success({ apps: [shown], pagination })],
      '/apps/': [success({ app: { ...shown, reviews: [] } })],
      '/categories': [success({ categories: [] })],
    })
    await shop.drawn()
    const [image] = shop.all('#content .icon img')
    return { shop, image, happens: (what: string) => image?.dispatchEvent(new shop.Event(what)) }
  }
  const icon = 'https://tides.example/icon.png'

  test.for(['/', '/?app=ebb'])('covers its letter once it has loaded: %s', async (path) => {
    const { shop, image, happens } = await openWith(path, icon)
    const attributes = ['src', 'width', 'height', 'loading', 'referrerpolicy', 'alt']
    expect(attributes.map((name) => image?.getAttribute(name))).toEqual([
      ...[icon, '48', '48', 'lazy', 'no-referrer', ''],
    ])
    expect(shop.text('#content .icon')).toBe('E')
    happens('load')
    expect([shop.text('#content .icon'), shop.all('#content img')]).toEqual(['', [image]])
  })

  test('leaves its letter if it fails', async () => {
    const { shop, happens } = await openWith('/', icon)
    happens('error')
    expect([shop.text('#content .icon'), shop.all('#content img')]).toEqual(['E', []])
  })

  test.for([
    undefined,
    'http://tides.example/icon.png',
    'javascript:alert(1)',
    ' https://a.example/',
  ])('is a letter without an address of https: %s', async (address) => {
    const { shop } = await openWith('/', address)
    expect([shop.text('#content .icon'), shop.all('#content img')]).toEqual(['E', []])
  })
})

test('the keywords of an app lead to their search, in all categories', async () => {
  const shop = await start('/?app=tide-clock&category=tools&sort=rating')
  await shop.drawn()
  expect(shop.texts('#keywords a')).toEqual(['tides', 'harbour'])
  expect(shop.links('#keywords a')).toEqual(['?search=tides', '?search=harbour'])
  shop.navigate('/?search=harbour')
  await expect.poll(() => shop.text('#heading')).toBe('Results for “harbour”')
  expect(shop.texts('.card h2')).toEqual(['Tide Clock'])
  expect(shop.text('#status')).toBe('1 app. Page 1 of 1.')
})

test('an app without keywords has no links to searches', async () => {
  const shop = await start('/?app=bird-song')
  await shop.drawn()
  expect(shop.texts('#keywords a')).toEqual([])
})

describe('requests', () => {
  test.for<[path: string, ...requests: string[]]>([
    ['/', '/apps?limit=24'],
    [
      '/?search=tide&category=tools&sort=rating&page=2',
      '/apps?category=tools&search=tide&sort=rating&page=2&limit=24',
    ],
    ['/?search=&category=&page=', '/apps?limit=24'],
    ['/?page=0', '/apps?page=0&limit=24'],
    ['/?search=c%2B%2B+%26+d', '/apps?search=c%2B%2B+%26+d&limit=24'],
    ['/?utm_source=mail&limit=7&sort=latest', '/apps?sort=latest&limit=24'],
    ['/?app=tide-clock&search=tide', '/apps?slug=tide-clock', `/apps/${apps.approved}`],
    ['/?app=no-such-app', '/apps?slug=no-such-app'],
  ])('%s sends them for what it shows, and one for the categories', async ([path, ...requests]) => {
    const shop = await start(path)
    await shop.drawn()
    expect(shop.requests('/apps')).toEqual(requests)
    expect(shop.requests('/categories')).toHaveLength(1)
  })
})

describe('another address', () => {
  const named = (name: string) =>
    success({
      apps: [{ name, slug: 'a', total_downloads: 0 }],
      pagination: { current_page: 1, total_pages: 1 },
    })

  test('cancels the request before it, which is no error', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>()
    const shop = open('/?search=late', 'http://api.test', {
      '/apps': [new Promise(() => {}), promise],
      '/categories': [success({ categories: [] })],
    })
    shop.navigate('?search=tide')
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    expect(shop.cancelled()).toEqual([true, false])
    expect(shop.text('#status')).toBe('Loading…')
    resolve(named('Tide'))
    expect(await shop.drawn()).toBe('Results for “tide”')
    expect(shop.texts('#content h2')).toEqual(['Tide'])
  })

  test('is shown a quarter of a second after the last letter, and is one in the history', async () => {
    stopTime()
    const shop = open('/', 'http://api.test', {
      '/apps': [emptyList(), emptyList(), emptyList()],
      '/categories': [success({ categories: [] })],
    })
    for (const text of ['t', 'ti']) {
      shop.type(text)
      await vi.advanceTimersByTimeAsync(249)
    }
    expect(shop.navigations).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    shop.type(' tide ')
    await vi.advanceTimersByTimeAsync(250)
    expect(shop.navigations).toEqual(['push ?search=ti', 'replace ?search=tide'])
    expect(shop.requests('/categories')).toHaveLength(1)
    expect(shop.typed()).toBe(' tide ')
  })

  test('is a new one in the history if it leads from an app to a search', async () => {
    stopTime()
    const shop = open('/?search=tide&app=a', 'http://api.test', {
      '/apps': [named('Tide'), refusal(), emptyList()],
      '/categories': [success({ categories: [] })],
    })
    shop.type('tid')
    await vi.advanceTimersByTimeAsync(250)
    expect(shop.navigations).toEqual(['push ?search=tid'])
  })

  test('ends the search that is typed', async () => {
    stopTime()
    const shop = open('/', 'http://api.test', {
      '/apps': [emptyList(), emptyList()],
      '/categories': [success({ categories: [] })],
    })
    shop.type('t')
    shop.navigate('?category=tools')
    await vi.advanceTimersByTimeAsync(1000)
    expect(shop.navigations).toEqual(['push ?category=tools'])
  })

  test('is not requested again after the Retry-After of the one before it', async () => {
    stopTime()
    const shop = open('/', 'http://api.test', {
      '/apps': [refusal({ 'Retry-After': '5' }), emptyList()],
      '/categories': [success({ categories: [] })],
    })
    await waitForTimer()
    shop.navigate('?search=tide')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(shop.requests('/apps')).toHaveLength(2)
  })

  test('is not shown by the page if it is loaded again', async () => {
    const shop = open('/', 'http://api.test', {
      '/apps': [emptyList()],
      '/categories': [success({ categories: [] })],
    })
    await shop.drawn()
    shop.navigate('?search=tide', { history: 'reload' })
    expect(shop.requests('/apps')).toHaveLength(1)
  })
})

describe('pages', () => {
  test.for<[page: number, pages: number, previous: string, next: string]>([
    [1, 0, '', ''],
    [1, 1, '', ''],
    [1, 2, '', '?search=tide&page=2'],
    [2, 3, '?search=tide&page=1', '?search=tide&page=3'],
    [10, 10, '?search=tide&page=9', ''],
    [99, 4, '?search=tide&page=98', ''],
  ])('%d of %d lead to "%s" and "%s"', async ([current_page, total_pages, previous, next]) => {
    const pagination = { current_page, total_pages, per_page: 24 }
    const shop = open(`/?search=tide&page=${current_page}`, 'http://api.test', {
      '/apps': [success({ apps: [], pagination })],
      '/categories': [success({ categories: [] })],
    })
    expect(await shop.drawn()).toBe('Results for “tide”')
    expect(shop.links('#previous, #next')).toEqual([previous, next])
    expect(shop.text('#position')).toBe(`Page ${current_page} of ${total_pages}`)
  })
})

describe('links', () => {
  const hrefs = (shop: ReturnType<typeof open>) => ({
    categories: shop.links('#categories a'),
    sort: shop.links('#sort a'),
    current: shop
      .all('[data-name]')
      .filter((link) => 'ariaCurrent' in link && link.ariaCurrent === true)
      .map(({ textContent }) => textContent),
  })

  test('keep the other choices, from the first page', async () => {
    const shop = await start('/?category=tools&search=tide&page=2&sort=rating')
    await shop.drawn()
    await expect.poll(() => shop.all('#categories a')).toHaveLength(4)
    expect(hrefs(shop)).toEqual({
      categories: ['', 'empty', 'games', 'tools'].map(
        (slug) => `?${slug && `category=${slug}&`}search=tide&sort=rating`,
      ),
      sort: ['', '&sort=latest', '&sort=popular', '&sort=rating'].map(
        (sort) => `?category=tools&search=tide${sort}`,
      ),
      current: ['Tools', 'Best rated'],
    })
  })

  test('say what is shown without a choice', async () => {
    const list = await start('/')
    await list.drawn()
    expect(hrefs(list)).toMatchObject({
      sort: ['', '?sort=latest', '?sort=popular', '?sort=rating'],
      current: ['All', 'Newest'],
    })
    const search = await start('/?search=tide')
    await search.drawn()
    expect(hrefs(search).current).toEqual(['All', 'Best match'])
  })

  test.for<[search: string, heading: string, links: string[]]>([
    ['?category=games&search=tide&sort=rating', 'Results for “tide”', ['?search=tide&sort=rating']],
    ['?search=zzzqqq', 'Results for “zzzqqq”', []],
    ['?category=nope', 'No apps', ['?']],
  ])('lead from a list without apps to all categories: %s', async ([search, heading, links]) => {
    const shop = await start(`/${search}`)
    expect([await shop.drawn(), shop.links('#content a')]).toEqual([heading, links])
  })

  test('lead to the search that was made instead', async () => {
    const shop = await start('/?search=tode&category=tools')
    await shop.drawn()
    expect(shop.text('#status')).toBe('Did you mean tide?')
    expect(shop.links('#status a')).toEqual(['?category=tools&search=tide'])
  })
})

test('shows markup in texts as text', async () => {
  const texts = { name: '<img src=x onerror=alert(1)>', description: '<i>Bold</i>' }
  const change = (service: Service) =>
    service.database.write(({ sql }) => sql('apps').where({ id: apps.bobs }).update(texts))
  const list = await start('/?category=games', change)
  await list.drawn()
  expect([list.text('.card h2'), list.text('.card .summary')]).toEqual(Object.values(texts))
  const app = await start('/?app=bird-song', change)
  expect([await app.drawn(), app.text('#content .text')]).toEqual(Object.values(texts))
  for (const shop of [list, app]) expect(shop.all('img, i')).toEqual([])
})

describe('errors', () => {
  const unavailable = 'The catalogue is not available'
  const noResponse = 'There is no response from http://api.test.'
  test.for<[what: string, answer: Answer, heading: string, status: string]>([
    ['a refusal', refusal(), unavailable, 'Too many reads.'],
    ['no response', new Error('lost'), unavailable, noResponse],
    [
      'a page of a proxy',
      new Response('<h1>Bad gateway</h1>', { status: 502 }),
      unavailable,
      noResponse,
    ],
    ['no such app', success({ apps: [] }), 'App not found', 'It may have been removed.'],
  ])('say that there was %s', async ([, answer, heading, status]) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const shop = open('/?app=tide', 'http://api.test', {
      '/apps': [answer],
      '/categories': [new Error('lost')],
    })
    expect([await shop.drawn(), shop.text('#status')]).toEqual([heading, status])
    // An app that is gone does not come back.
    const retry = heading === unavailable ? ['?app=tide'] : []
    expect(shop.links('#content a')).toEqual(retry)
    expect(log.mock.calls).toHaveLength(status === noResponse ? 1 : 0)
    log.mockRestore()
  })

  test('do not keep the categories from being requested again, until there are some', async () => {
    stopTime()
    const again = () => refusal({ 'Retry-After': '5' })
    const shop = open('/', 'http://api.test', {
      '/apps': [again(), again(), again(), emptyList()],
      '/categories': [
        new Error('lost'),
        refusal(),
        success({ categories: [{ slug: 'tools', name: 'Tools', app_count: 3 }] }),
      ],
    })
    const requested = []
    for (let time = 0; time < 3; time++) {
      await waitForTimer()
      requested.push(shop.requests('/categories').length)
      await vi.advanceTimersByTimeAsync(5000)
    }
    expect([...requested, shop.requests('/categories').length]).toEqual([1, 2, 3, 3])
    expect(shop.texts('#categories a')).toEqual(['All', 'Tools'])
  })

  test.for<[retryAfter: string, seconds: number]>([
    ['7', 7],
    ['60', 60],
    ['3600', 3600],
  ])('are followed by a request after the seconds in Retry-After: %s', async ([value, seconds]) => {
    stopTime()
    const headers = { 'Retry-After': value }
    const shop = open('/?sort=popular', 'http://api.test', {
      '/apps': [refusal(headers), refusal({ 'Retry-After': '5' }), emptyList()],
      '/categories': [success({ categories: [] })],
    })
    const sent = () => shop.requests('/apps').length
    for (const [index, wait] of [seconds, 5].entries()) {
      await waitForTimer()
      expect(shop.text('#heading')).toBe(unavailable)
      await vi.advanceTimersByTimeAsync(wait * 1000 - 1)
      expect(sent(), `requests before ${wait} s`).toBe(index + 1)
      await vi.advanceTimersByTimeAsync(1)
      expect(sent(), `requests after ${wait} s`).toBe(index + 2)
    }
    expect(shop.text('#heading')).toBe('All apps')
    expect(vi.getTimerCount()).toBe(0)
  })

  test.for([
    [],
    ['0'],
    ['-5'],
    ['soon'],
    [new Date(Date.now() + 7000).toUTCString()],
    ['9'.repeat(20)],
  ])('are followed by none if Retry-After is no such time: %j', async ([value]) => {
    stopTime()
    const headers = value === undefined ? undefined : { 'Retry-After': value }
    const shop = open('/', 'http://api.test', {
      '/apps': [refusal(headers), emptyList()],
      '/categories': [success({ categories: [] })],
    })
    for (let turn = 0; turn < 100; turn++) await setImmediate()
    expect(shop.text('#status')).toBe('Too many reads.')
    await vi.advanceTimersByTimeAsync(60_000)
    expect([vi.getTimerCount(), ...shop.requests('/apps')]).toEqual([0, '/apps?limit=24'])
  })
})

test('the home page and the moderation page have its theme, of which it has a copy', async () => {
  const read = (file: string) => readFileSync(file, 'utf8').trimEnd()
  const theme = read(`${import.meta.dirname}/../../src/http/theme.css`)
  expect(theme.length).toBeGreaterThan(1000)
  expect(read(`${directory}/theme.css`)).toBe(theme)
  const service = await startService()
  const home = await service.get('/', { headers: { Accept: 'text/html' } })
  expect(home.text).toContain(`<style>\n${theme}\n`)
  const style = await (await startModerationPage()).get('/style.css')
  expect(style.text.startsWith(`${theme}\n`)).toBe(true)
  expect(style.text.length).toBeGreaterThan(theme.length + 1000)
})
