import { describe, expect, test } from 'vitest'
import { formats, type Message } from '../deploy/notification-formats.ts'
import { required } from '../src/util/helpers.ts'

const formatOf = (name: string) => required(formats[name], 'a format')

type Hostile = { text: string; code: string; plain: string }

/** Names and reasons on one line, as they are shown within code and in plain text. */
const hostileTexts: Hostile[] = [
  {
    text: '<!channel> <@U1> &lt;!here&gt; Q&A',
    code: '<!channel> <@U1> &lt;!here&gt; Q&A',
    plain: '<!channel> <@U1> &lt;!here&gt; Q&A',
  },
  {
    text: '`a` ```b``` *c* _d_ ~e~ ||f||',
    code: `'a' ''${"'b'"}'' *c* _d_ ~e~ ||f||`,
    plain: `'a' ''${"'b'"}'' *c* _d_ ~e~ ||f||`,
  },
  {
    text: '[Sign in](https://evil.example) www.evil.example v1. 2.',
    code: '[Sign in](https://evil.example) www.evil.example v1. 2.',
    plain: '[Sign in](https:∕∕evil․example) www․evil․example v1. 2.',
  },
]
const escapeForSlack = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

test.for(hostileTexts)('$text does no harm in any format', ({ text, code, plain }) => {
  const neutralized = Object.entries(formats).map(([name, { neutralize }]) => [
    name,
    neutralize(text),
  ])
  expect(Object.fromEntries(neutralized)).toEqual({
    text: plain,
    slack: escapeForSlack(code),
    teams: plain,
    discord: code,
    ntfy: plain,
  })
})

const url = 'https://moderation.example.org'
const message: Message = {
  title: 'Decisions: 1; waiting: 2',
  url,
  lines: [{ text: 'Decisions: 1' }, { text: 'App 2 `A & B` approved', url: `${url}/apps/2` }],
}
const text = `Decisions: 1\nApp 2 \`A & B\` approved ${url}/apps/2`
const plain = { 'Content-Type': 'text/plain; charset=utf-8' }

type Expected = { format: string; headers: Record<string, string>; body: unknown }
const requests: Expected[] = [
  { format: 'text', headers: plain, body: text },
  { format: 'slack', headers: { 'Content-Type': 'application/json' }, body: { text } },
  {
    format: 'teams',
    headers: { 'Content-Type': 'application/json' },
    body: {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.2',
            body: [
              { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: 'Decisions: 1' }] },
              {
                type: 'RichTextBlock',
                inlines: [
                  { type: 'TextRun', text: 'App 2 `A & B` approved ' },
                  {
                    type: 'TextRun',
                    text: `${url}/apps/2`,
                    selectAction: { type: 'Action.OpenUrl', url: `${url}/apps/2` },
                  },
                ],
              },
            ],
          },
        },
      ],
    },
  },
  {
    format: 'discord',
    headers: { 'Content-Type': 'application/json' },
    body: { content: text, allowed_mentions: { parse: [] }, flags: 4 },
  },
  { format: 'ntfy', headers: { ...plain, Title: message.title, Click: url }, body: text },
]

describe('the request', () => {
  test.for(requests)(
    'of $format has the lines with their addresses',
    ({ format, headers, body }) => {
      const request = formatOf(format).toRequest(message)
      expect(request.headers).toEqual(headers)
      const isText = typeof body === 'string'
      expect(isText ? request.body : JSON.parse(request.body)).toEqual(body)
    },
  )

  test.for(Object.keys(formats))('of %s has no address if the message has none', (format) => {
    const { url: _, ...without } = message
    const lines = message.lines.map(({ text }) => ({ text }))
    const { headers, body } = formatOf(format).toRequest({ ...without, lines })
    expect(body.replace('http://adaptivecards.io', '')).not.toMatch(/https?:|undefined|null/)
    expect(headers).not.toHaveProperty('Click')
  })
})

test.for<{ format: string; character: string; most: number }>([
  { format: 'slack', character: 'x', most: 16_383 },
  { format: 'slack', character: '🐚', most: 8191 },
  { format: 'teams', character: 'x', most: 27_720 },
  { format: 'discord', character: 'x', most: 2000 },
  // Of this one, a character has three bytes.
  { format: 'ntfy', character: '…', most: 1365 },
])('$format takes $most times $character, and not more', ({ format, character, most }) => {
  const fits = (length: number) =>
    formatOf(format).fits({ title: 'T', lines: [{ text: character.repeat(length) }] })
  expect([most, most + 1].map(fits)).toEqual([true, false])
})
