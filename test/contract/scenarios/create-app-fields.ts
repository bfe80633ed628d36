import { expect } from 'vitest'
import { emptyFields, wholeApp } from '../../support/whole-app.ts'
import { newApp } from '../valid-requests.ts'
import { createWith, jsonType, type Scenario, type Table } from './scenario.ts'

/** The values of the fields of createApp. */
export const createAppFields: Table = ({ apps, keys, categories }) => [
  ...[
    {
      what: 'every field',
      fields: { ...wholeApp, package_name: 'org.example.stars' },
    },
    {
      what: 'an empty text for each field that may be missing',
      fields: emptyFields,
    },
    {
      what: 'the longest address and licence',
      fields: { website_url: 'https://example.org/'.padEnd(500, 'x'), license: 'M'.repeat(100) },
    },
    {
      what: 'a licence of AppStream, which is no SPDX expression',
      fields: { license: 'LicenseRef-proprietary=https://example.org/eula?a#b' },
    },
    {
      what: 'licences in another form, and in other words',
      fields: { license: ' MIT|Apache-2.0; Freeware, some rights – ©, 自由 ' },
    },
    { what: 'an icon in any case', fields: { icon_url: 'HTTPS://Example.org:8443/i?a=b#c' } },
    {
      what: 'ten keywords of 30 characters, with white space around them',
      fields: {
        keywords: Array.from({ length: 10 }, (_, index) => ` ${index}${'字'.repeat(27)} `),
      },
    },
    { what: 'keywords that differ in case', fields: { keywords: ['Go', 'go', 'GO'] } },
    {
      what: 'lengths in code points',
      fields: { name: '🎲'.repeat(100), description: `${'字'.repeat(19_999)} ` },
    },
    { what: 'line breaks and tabs in a description', fields: { description: 'a\r\nb\n\tc' } },
    { what: 'a version with inner spaces', fields: { version: 'Varies with device' } },
    {
      what: 'the invisible characters that emoji, flags and scripts need',
      fields: {
        name: '👩\u200d🔬❤\ufe0f 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 葛\u{e0100}',
        version: 'می\u200cخواهم क\u094d\u200dष',
        description: 'ភាសា\u200bខ្មែរ, C++\u200f: \u00ad',
      },
    },
    {
      what: 'a package name of 255 characters, with digits, hyphens and underscores',
      fields: { package_name: `a-1.b_2.${'c'.repeat(247)}` },
    },
  ].map(
    ({ what, fields }): Scenario => ({
      name: `takes ${what}`,
      request: createWith(keys, fields),
      status: 201,
    }),
  ),

  ...[
    { what: 'a name of white space', fields: { name: ' \t ' } },
    { what: 'a name over 100 characters', fields: { name: 'a'.repeat(101) } },
    {
      what: 'a name of 100 characters and white space, which is counted before it is removed',
      fields: { name: ` ${'a'.repeat(100)}` },
    },
    { what: 'a name with a line break', fields: { name: 'Star\nMap' } },
    { what: 'invisible names and versions', fields: { name: '\u200b', version: '\u3164' } },
    { what: 'a variation selector that selects nothing', fields: { name: '\u{e0100}' } },
    { what: 'a NUL in a description', fields: { description: 'a\u0000b' } },
    { what: 'an invisible description', fields: { description: '\u200b\n\u2060' } },
    { what: 'a description over 20,000 characters', fields: { description: 'a'.repeat(20_001) } },
    {
      what: 'bidirectional controls in descriptions',
      fields: { description: 'a\u202eb', short_description: '\u2066a' },
    },
    {
      what: 'a short description over 200 characters',
      fields: { short_description: 'a'.repeat(201) },
    },
    { what: 'a short description with a line break', fields: { short_description: 'Two\nlines' } },
    { what: 'an empty version', fields: { version: '' } },
    { what: 'a version over 50 characters', fields: { version: '1'.repeat(51) } },
    { what: 'a no-break space at the end of a version', fields: { version: '1.0\u00a0' } },
    { what: 'a version with a line break', fields: { version: '1.0\nbeta' } },
    { what: 'spaces around a package name', fields: { package_name: ' a.b.c ' } },
    { what: 'a package name of a space', fields: { package_name: ' ' } },
    { what: 'a package name of two parts', fields: { package_name: 'example.stars' } },
    {
      what: 'a package name whose part begins with a digit',
      fields: { package_name: 'org.example.2048' },
    },
    {
      what: 'a package name of 256 characters',
      fields: { package_name: `a.b.${'c'.repeat(252)}` },
    },
    {
      what: 'a longer address and licence',
      fields: {
        source_code_url: 'https://example.org/'.padEnd(501, 'x'),
        license: 'M'.repeat(101),
      },
    },
    { what: 'a licence with a bidirectional character', fields: { license: 'MIT\u202E' } },
    { what: 'a licence with a control character', fields: { license: 'MIT\u007F' } },
    {
      what: 'a licence of two lines, and no address',
      fields: { license: 'MIT\nApache-2.0', website_url: null },
    },
    { what: 'an icon by http', fields: { icon_url: 'http://example.org/icon.png' } },
    { what: 'an icon of an IP address', fields: { icon_url: 'https://127.0.0.1/icon.png' } },
    { what: 'an icon with a user', fields: { icon_url: 'https://a@example.org/icon.png' } },
    {
      what: 'an icon that is an image itself',
      fields: { icon_url: 'data:image/png;base64,iVBORw0KGgo=' },
    },
    { what: 'eleven keywords', fields: { keywords: [...'abcdefghijk'] } },
    { what: 'keywords that are equal without white space', fields: { keywords: ['a', ' a'] } },
    { what: 'keywords as one text', fields: { keywords: 'a, b' } },
    ...[
      { what: 'an empty keyword', keyword: '' },
      { what: 'a keyword of white space', keyword: '\u3000' },
      { what: 'a keyword over 30 characters', keyword: 'a'.repeat(31) },
      { what: 'a keyword with a line break', keyword: 'a\nb' },
      { what: 'a keyword with a bidirectional character', keyword: 'a\u202e' },
      { what: 'a number as a keyword', keyword: 3 },
    ].map(({ what, keyword }) => ({
      what,
      fields: { keywords: ['a', keyword] },
      at: '/keywords/1',
    })),
    { what: 'category 0', fields: { category_id: 0 } },
    { what: 'a fractional category', fields: { category_id: 1.5 } },
  ].map(
    ({ what, fields, at }: { what: string; fields: object; at?: string }): Scenario => ({
      name: `refuses ${what}`,
      request: createWith(keys, fields),
      status: 400,
      code: 'invalid_request',
      problems: at ? [`body ${at}`] : Object.keys(fields).map((field) => `body /${field}`),
    }),
  ),

  ...[
    { what: 'a name that is taken', name: 'Tide Clock', slug: 'tide-clock-2' },
    { what: 'the name of a deleted app', name: 'Gone', slug: 'gone-2' },
    { what: 'a name of any script', name: 'Приложение', slug: 'prilozhenie' },
    { what: 'a name without letters and digits', name: '!?', slug: 'app' },
  ].map(
    ({ what, name, slug }): Scenario => ({
      name: `makes a slug of ${what}`,
      request: createWith(keys, { name }),
      status: 201,
      data: expect.objectContaining({ slug }),
    }),
  ),

  {
    name: 'does not let an owner set the status',
    request: createWith(keys, { status: 'approved' }),
    status: 400,
    problems: ['body '],
    message: /^The body .*: status\.$/,
  },
  {
    name: 'does not let an owner set downloads, rating and slug',
    request: createWith(keys, { total_downloads: 9, average_rating: 5, slug: 'x' }),
    status: 400,
    problems: ['body '],
    message: /read-only fields: total_downloads, average_rating, slug\.$/,
  },
  {
    name: 'refuses a lone surrogate',
    request: [
      'POST',
      '/apps',
      {
        key: keys.ada,
        headers: jsonType,
        body: '{"name":"A\\ud83d","description":"B","category_id":1}',
      },
    ],
    status: 400,
    problems: ['body /name'],
  },
  {
    name: 'reports a taken package name before an unknown category',
    request: createWith(keys, { package_name: 'org.example.tideclock', category_id: 999 }),
    status: 409,
    code: 'package_name_taken',
  },
  {
    name: 'refuses a package name that is taken, whatever its case',
    request: [
      'POST',
      '/apps',
      { key: keys.bob, json: { ...newApp, package_name: 'ORG.example.TideClock' } },
    ],
    status: 409,
    code: 'package_name_taken',
    message:
      /^The package name ORG\.example\.TideClock is taken by another app; choose another name\.$/,
    // It is somebody else's.
    without: /"app_id"/,
  },
  {
    name: "refuses the package name of somebody else's deleted app",
    request: [
      'POST',
      '/apps',
      { key: keys.bob, json: { ...newApp, package_name: 'org.example.gone' } },
    ],
    status: 409,
    message: /^The package name org\.example\.gone is taken by another app; choose another name\.$/,
  },
  {
    name: "says that one's own app has the package name",
    request: createWith(keys, { package_name: 'org.example.tideclock' }),
    status: 409,
    message: new RegExp(
      `^The package name org\\.example\\.tideclock is taken by your app ${apps.approved}; update that app, or choose another name\\.$`,
    ),
    data: {
      code: 'package_name_taken',
      errors: [
        {
          in: 'body',
          field: '/package_name',
          message: `is taken by your app ${apps.approved}`,
        },
      ],
      app_id: apps.approved,
    },
  },
  {
    name: "takes the package name of one's own deleted app, in any case",
    request: createWith(keys, { package_name: 'org.example.GONE' }),
    status: 201,
  },
  {
    name: 'refuses an unknown category and lists the existing ones',
    request: createWith(keys, { category_id: 99 }),
    status: 422,
    code: 'unknown_category',
    data: {
      code: 'unknown_category',
      errors: [expect.objectContaining({ field: '/category_id' })],
      categories: [
        { id: categories.empty, slug: 'empty', name: 'Empty' },
        { id: categories.games, slug: 'games', name: 'Games' },
        { id: categories.tools, slug: 'tools', name: 'Tools' },
      ],
    },
  },
]
