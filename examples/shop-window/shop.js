/**
 * The state is in the address: the parameters of `GET /apps`, and `app`, the slug of an open app.
 * Each navigation calls `show`, which requests and draws what the address names.
 */
const api = document.querySelector('meta[name=api]').content
const element = (id) => document.getElementById(id)
const field = element('search')
const view = {}
let loading = new AbortController()
let categories, timer

/** Returns the data of a success. The browser revalidates its cached responses by their ETags. */
async function get(path, signal) {
  const response = await fetch(api + path, { signal })
  const { success, message, data } = await response.json()
  if (success) return { message, total: Number(response.headers.get('X-Total-Count')), ...data }
  const wait = response.headers.get('Retry-After')
  throw Object.assign(new Error(message), { code: data.code, wait })
}

async function show() {
  const previous = window.navigation?.transition?.from.url
  const isTyping = document.activeElement === field
  const parameters = new URLSearchParams(location.search)
  for (const name of ['category', 'search', 'sort', 'page', 'app'])
    view[name] = parameters.get(name) ?? ''
  if (field.value.trim() !== view.search) field.value = view.search
  updateLinks()
  clearTimeout(timer)
  loading.abort()
  loading = new AbortController()
  const { signal } = loading
  element('main').ariaBusy = true
  // Requested once, and again only after a failure.
  categories ??= showCategories().catch(() => (categories = undefined))
  try {
    await (view.app ? showApp(signal) : showList(signal))
  } catch (error) {
    if (signal.aborted) return
    if (!error.code) console.error(error)
    showError(error)
  }
  element('main').ariaBusy = false
  document.title = `${element('heading').textContent} – Shop window`
  if (!previous || isTyping) return
  const links = [...element('content').querySelectorAll('a')]
  const opened = links.find(({ href }) => href === previous) ?? element('heading')
  opened.focus({ preventScroll: true })
}

async function showCategories() {
  for (const { slug, name, app_count } of (await get('/categories')).categories) {
    const copy = fill('category', { name })
    Object.assign(copy.firstChild.dataset, { value: slug, count: app_count })
    element('categories').append(copy)
  }
  updateLinks()
}

async function showList(signal) {
  const { app, ...filters } = view
  const list = await get(`/apps${query({ ...filters, limit: 24 })}`, signal)
  const { current_page: page, total_pages: pages } = list.pagination
  const name = view.category ? list.apps[0]?.category_name : 'All apps'
  const heading = view.search ? `Results for “${view.search}”` : (name ?? 'No apps')
  const cards = list.apps.map((app) => fill('card', describe(app)))
  const corrected = list.search?.corrected
  const question = corrected && offer(`Did you mean ${corrected}?`, { search: corrected })
  const isEmpty = view.category && pages === 0
  const content = isEmpty ? [offer('Show all categories', { category: '' })] : cards
  const found = list.total > 0 ? `${count(list.total, 'app')}. ` : ''
  draw(heading, [question || found + list.message], content)
  element('position').textContent = `Page ${page} of ${pages}`
  element('previous').href = linkTo({ page: page - 1 })
  element('previous').hidden = page === 1
  element('next').href = linkTo({ page: page + 1 })
  element('next').hidden = page >= pages
}

async function showApp(signal) {
  const { apps } = await get(`/apps${query({ slug: view.app })}`, signal)
  if (!apps[0]) return draw('App not found', ['It may have been removed.'], [])
  const { app } = await get(`/apps/${apps[0].id}`, signal)
  const page = fill('app', { ...describe(app), reviews: count(app.review_count, 'review') })
  const keywords = app.keywords?.map((text) =>
    offer(text, { search: text, category: '', sort: '' }),
  )
  page.getElementById('keywords').append(...(keywords ?? []))
  const reviews = app.reviews.map((review) => fill('review', review))
  draw(app.name, [app.short_description ?? ''], [page, ...reviews])
}

/** An error without `code` is not the API's: there was no response, or it came from a proxy. */
function showError({ code, message, wait }) {
  const text = code ? message : `There is no response from ${api}.`
  draw('The catalogue is not available', [text], [offer('Try again', view)])
  if (wait > 0 && wait < 1e6) timer = setTimeout(show, wait * 1000) // Others would run at once.
}

function draw(heading, status, content) {
  element('heading').textContent = heading
  element('status').replaceChildren(...status)
  element('content').replaceChildren(...content)
}

/** A copy of a template with texts, which are never parsed as HTML. */
function fill(template, texts) {
  const copy = element(template).content.cloneNode(true)
  for (const part of copy.querySelectorAll('[data-text]')) {
    part.textContent = texts[part.dataset.text] ?? ''
    if (part.href) part.href = texts.href
  }
  for (const link of copy.querySelectorAll('[data-href]')) {
    const address = texts[link.dataset.href]
    if (/^https?:\/\//i.test(address ?? '')) Object.assign(link, { href: address, title: address })
    else link.remove()
  }
  for (const image of copy.querySelectorAll('[data-src]')) {
    const address = texts[image.dataset.src]
    // The letter stays until there is an image, and if there is none.
    image.addEventListener('load', () => image.previousSibling.remove())
    image.addEventListener('error', () => image.remove())
    if (/^https:\/\//i.test(address ?? '')) image.src = address
    else image.remove()
  }
  return copy
}

const describe = (app) => ({
  ...app,
  icon: app.name.match(/\p{RGI_Emoji}/v)?.[0] ?? [...app.name][0],
  rating: app.average_rating ? `${app.average_rating} of 5` : '',
  downloads: count(app.total_downloads, 'download'),
  href: linkTo({ page: view.page, app: app.slug }),
})

const compact = new Intl.NumberFormat('en', { notation: 'compact' })
const count = (number, noun) => `${compact.format(number)} ${noun}${number === 1 ? '' : 's'}`

/** Sets the links that change one parameter of the list, and the one from an app to the list. */
function updateLinks() {
  const current = { ...view, sort: view.sort || (view.search ? '' : 'latest') }
  for (const link of document.querySelectorAll('[data-name]')) {
    const { name, value } = link.dataset
    link.href = linkTo({ [name]: value })
    link.ariaCurrent = current[name] === value
  }
  element('best').hidden = !view.search
  element('back').hidden = !view.app
  element('back').href = linkTo({ page: view.page })
}

const linkTo = (changes) => query({ ...view, page: '', app: '', ...changes })
const offer = (text, changes) => fill('offer', { text, href: linkTo(changes) })
const query = (parameters) =>
  `?${new URLSearchParams(Object.entries(parameters).filter(([, value]) => value))}`

field.addEventListener('input', () => {
  clearTimeout(timer)
  timer = setTimeout(() => {
    // Further letters replace the history entry of the first.
    const history = view.search && !view.app ? 'replace' : 'push'
    window.navigation?.navigate(query({ search: field.value.trim() }), { history })
  }, 250)
})

// Links, the form, back and forward. A browser without this API loads the page again instead.
window.navigation?.addEventListener('navigate', (event) => {
  if (!event.canIntercept || event.navigationType === 'reload') return
  event.intercept({ handler: show, focusReset: 'manual' })
})
show()
