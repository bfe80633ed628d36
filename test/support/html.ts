/**
 * Reads the HTML of the moderation page, strictly: every tag and attribute must be one that its
 * templates may contain, so that markup from stored texts is noticed wherever it appears.
 */

/** An option may have an end or none. */
const voidElements = ['meta', 'link', 'input', 'br', 'hr', 'option']
const elements = new Set([
  ...['html', 'head', 'title', 'body', 'header', 'nav', 'main', 'footer', 'section', 'article'],
  ...['h1', 'h2', 'h3', 'p', 'div', 'span', 'bdi', 'code', 'time', 'del', 'ins', 'strong'],
  ...['ul', 'ol', 'li', 'dl', 'dt', 'dd', 'a', 'form', 'fieldset', 'legend', 'label', 'button'],
  ...['select', 'datalist', 'textarea', 'table', 'caption', 'thead', 'tbody', 'tr', 'th', 'td'],
  ...['details', 'summary', 'q', ...voidElements],
])
const attributes = new Set([
  ...['lang', 'charset', 'name', 'content', 'rel', 'href', 'class', 'id', 'role', 'datetime'],
  ...['method', 'action', 'type', 'value', 'checked', 'selected', 'disabled', 'hidden', 'required'],
  ...['autocomplete', 'autofocus', 'maxlength', 'inputmode', 'list', 'for', 'scope', 'rows'],
  ...[
    'colspan',
    'open',
    'tabindex',
    'readonly',
    'accesskey',
    'spellcheck',
    'dir',
    'formnovalidate',
  ],
])
const isAllowed = (name: string) => attributes.has(name) || /^aria-[a-z]+$/.test(name)

/** Control characters except the line break, and those that reverse the reading direction. */
const unsafe = /[^\P{Cc}\n]|[\u202A-\u202E\u2066-\u2069]/u

const token = /<(\/?)([A-Za-z][^\s>/]*)((?:\s+[^\s=>"]+(?:="[^"]*")?)*)\s*>|([^<>]+)|([<>])/g

/** Describes what is wrong; nothing for a right page. */
export function checkHtml(page: string, prefix: string): string[] {
  const doctype = '<!doctype html>\n'
  const problems: string[] = []
  if (!page.startsWith(doctype)) problems.push('no doctype')
  if (unsafe.test(page)) problems.push('a control character')
  const open: string[] = []
  for (const [, slash, name = '', list = '', text, stray] of page
    .slice(doctype.length)
    .matchAll(token)) {
    if (stray) problems.push(`a bare ${stray} in ${open.join(' ')}`)
    if (text !== undefined) problems.push(...entityProblems(text))
    if (!name) continue
    if (!elements.has(name)) problems.push(`the element ${name}`)
    problems.push(...attributeProblems(name, list, prefix))
    if (voidElements.includes(name)) continue
    if (!slash) open.push(name)
    else if (open.pop() !== name) problems.push(`the end of ${name}`)
  }
  if (open.length > 0) problems.push(`without an end: ${open}`)
  return problems
}

/** An app at the default BASE_URL: the only address of another origin. */
const publicApp = /^http:\/\/localhost:3000\/apps\/\d+$/

const attributePattern = /([^\s=>"]+)(?:="([^"]*)")?/g

function attributeProblems(element: string, list: string, prefix: string): string[] {
  return [...list.matchAll(attributePattern)].flatMap(([, name = '', value]) => {
    if (!isAllowed(name)) return [`the attribute ${name} of ${element}`]
    const isAddress = name === 'href' || name === 'action'
    const isPublicApp = name === 'href' && publicApp.test(value ?? '')
    const isOwn = isPublicApp || value === 'data:,' || decode(value ?? '').startsWith(`${prefix}/`)
    if (isAddress && (!isOwn || decode(value ?? '').startsWith('//'))) return [`leads to ${value}`]
    return entityProblems(value ?? '')
  })
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

const bareAmpersand = new RegExp(`&(?!(?:${Object.keys(entities).join('|')});)[^\\s;&]*;?`, 'g')

const entityProblems = (text: string): string[] =>
  [...text.matchAll(bareAmpersand)].map(([found]) => `a bare & in ${found}`)

const decode = (text: string) =>
  text.replace(/&([^;]+);/g, (whole, name: string) => entities[name] ?? whole)

/** The text that a reader sees, in one line. */
export const textOf = (page: string): string =>
  decode(
    page
      .replace(/^[\s\S]*<body>/, '')
      .replace(/<[^>]*>/g, (tag) =>
        /^<\/?(bdi|a|ins|del|code|time|span|strong)\b/.test(tag) ? '' : ' ',
      ),
  )
    .replace(/\s+/g, ' ')
    .trim()

export const titleOf = (page: string): string =>
  decode(/<title>([^<]*)<\/title>/.exec(page)?.[1] ?? '')

/** The links in their order, as `[text, address]`. */
export const linksOf = (page: string): [text: string, address: string][] =>
  [...page.matchAll(/<a [^>]*href="([^"]*)"[^>]*>([\s\S]*?)<\/a>/g)].map(
    ([, address = '', text = '']) => [textOf(`<body>${text}`), decode(address)],
  )

/** Where the first link with this text leads; an empty text if there is none. */
export const addressOf = (page: string, text: string): string =>
  linksOf(page).find(([one]) => one === text)?.[1] ?? ''

/** The values of all fields with this name, in their order. */
export const valuesOf = (page: string, name: string): string[] =>
  [...page.matchAll(/<(?:input|button)\b[^>]*>/g)]
    .map(([tag]) => tag)
    .filter((tag) => tag.includes(` name="${name}"`))
    .map((tag) => decode(/ value="([^"]*)"/.exec(tag)?.[1] ?? ''))

/**
 * The first form that is sent to this path, as a browser sends it without a button: its address, and
 * the fields that are filled in or ticked. Undefined if the page has none.
 */
export function formOf(
  page: string,
  path: string,
): { action: string; fields: Record<string, string[]> } | undefined {
  for (const [, address = '', content = ''] of page.matchAll(
    /<form [^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g,
  )) {
    const action = decode(address)
    if (action.split('?', 1).join() !== path) continue
    const inputs = [...content.matchAll(/<input\b[^>]*>/g)]
      .map(([tag]) => tag)
      .filter((tag) => tag.includes(' name="') && (!/checkbox/.test(tag) || / checked>/.test(tag)))
      .map((tag) => ({
        name: decode(/ name="([^"]*)"/.exec(tag)?.[1] ?? ''),
        value: decode(/ value="([^"]*)"/.exec(tag)?.[1] ?? ''),
      }))
    const fields = Object.fromEntries(
      Map.groupBy(inputs, ({ name }) => name)
        .entries()
        .map(([name, all]) => [name, all.map(({ value }) => value)]),
    )
    return { action, fields }
  }
  return undefined
}

/** The problem that a page shows first; an empty text if it has none. */
export const problemOf = (page: string): string =>
  textOf(`<body>${/<p role="alert"[^>]*>[\s\S]*?<\/p>/.exec(page)?.[0] ?? ''}`)

/** What a page says that the form before it did; an empty text if it says nothing. */
export const reportOf = (page: string): string =>
  textOf(`<body>${/<p role="status"[^>]*>[\s\S]*?<\/p>/.exec(page)?.[0] ?? ''}`)

/** The suggestions of a list; by default those for reasons. */
export const optionsOf = (page: string, id = 'reasons'): string[] => {
  const pattern = new RegExp(`<datalist id="${id}">([\\s\\S]*?)</datalist>`)
  const [, list = ''] = pattern.exec(page) ?? []
  return [...list.matchAll(/ value="([^"]*)"/g)].map(([, value = '']) => decode(value))
}
