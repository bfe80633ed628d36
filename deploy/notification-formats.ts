/**
 * The requests that receivers of notifications expect, as their documentation describes them. Names
 * and reasons are other people's texts: in none of the formats may they format, link or mention.
 */

/** A line, with the address that it links. */
export type Line = { text: string; url?: string | undefined }

export type Message = { title: string; lines: Line[]; url?: string | undefined }

type Request = { headers: Record<string, string>; body: string }

export type Format = {
  /** Makes a text on one line harmless, which then stands between backticks. */
  neutralize: (text: string) => string
  toRequest: (message: Message) => Request
  /** Whether the receiver accepts the message, and shows all of it. */
  fits: (message: Message) => boolean
}

export const toText = ({ lines }: Message) =>
  lines.map(({ text, url }) => (url === undefined ? text : `${text} ${url}`)).join('\n')

/** For programs that make links of addresses in plain text, also of those without https://. */
export const neutralizePlain = (text: string) =>
  replaceEach(text, { '`': "'" })
    .replaceAll('://', ':∕∕')
    .replace(/\.(?=[^\s.])/g, '․')

/** In code, the formats with markup read no other markup, and make no links. */
const neutralizeCode = (text: string, escaped: Record<string, string> = {}) =>
  replaceEach(text, { '`': "'", ...escaped })

const replaceEach = (text: string, replaced: Record<string, string>) =>
  [...text].map((character) => replaced[character] ?? character).join('')

const plain = { 'Content-Type': 'text/plain; charset=utf-8' }
const toJson = (value: unknown): Request => ({
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(value),
})

/** The values of NOTIFY_FORMAT. */
export const formats: Record<string, Format> = {
  text: {
    neutralize: neutralizePlain,
    toRequest: (message) => ({ headers: plain, body: toText(message) }),
    fits: () => true,
  },

  /**
   * https://docs.slack.dev/messaging/formatting-message-text/ Slack cuts a text after 40,000
   * characters, Mattermost refuses one with more than 16,383.
   */
  slack: {
    neutralize: (text) => neutralizeCode(text, { '&': '&amp;', '<': '&lt;', '>': '&gt;' }),
    toRequest: (message) => toJson({ text: toText(message) }),
    fits: (message) => toText(message).length <= 16_383,
  },

  /**
   * https://learn.microsoft.com/adaptive-cards/schema-explorer/text-run In a TextRun, unlike in a
   * TextBlock, Markdown is not read. A message may have 28 KB.
   */
  teams: {
    neutralize: neutralizePlain,
    toRequest: toCard,
    fits: (message) => Buffer.byteLength(toCard(message).body) <= 28_000,
  },

  /**
   * https://docs.discord.com/developers/resources/webhook#execute-webhook The flag suppresses the
   * previews of links.
   */
  discord: {
    neutralize: (text) => neutralizeCode(text),
    toRequest: (message) =>
      toJson({ content: toText(message), allowed_mentions: { parse: [] }, flags: 4 }),
    fits: (message) => toText(message).length <= 2000,
  },

  /** https://docs.ntfy.sh/publish/#limitations A longer message becomes an attached file. */
  ntfy: {
    neutralize: neutralizePlain,
    toRequest: (message) => ({
      headers: {
        ...plain,
        Title: message.title,
        ...(message.url !== undefined && { Click: message.url }),
      },
      body: toText(message),
    }),
    fits: (message) => Buffer.byteLength(toText(message)) <= 4096,
  },
}

function toCard({ lines }: Message): Request {
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: lines.map(toTextBlock),
  }
  const contentType = 'application/vnd.microsoft.card.adaptive'
  return toJson({ type: 'message', attachments: [{ contentType, content }] })
}

function toTextBlock({ text, url }: Line) {
  if (url === undefined) return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text }] }
  const link = { type: 'TextRun', text: url, selectAction: { type: 'Action.OpenUrl', url } }
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: `${text} ` }, link] }
}
