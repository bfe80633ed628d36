import { expect } from 'vitest'
import { newApp } from '../valid-requests.ts'
import { createWith, jsonType, type Table } from './scenario.ts'

/** The values of the fields of createApp. */
export const createAppFields: Table = ({ apps, keys, categories }) => [
  {
    name: 'takes every field',
    request: [
      'POST',
      '/apps',
      {
        key: keys.ada,
        json: {
          ...newApp,
          short_description: 'Stars',
          version: '2.0',
          package_name: 'org.example.stars',
          website_url: 'https://stars.example/',
          source_code_url: 'https://code.example/stars',
          license: 'GPL-3.0-or-later OR MIT',
        },
      },
    ],
    status: 201,
  },
  {
    name: 'takes an empty text for each field that may be missing',
    request: createWith(keys, {
      short_description: '',
      website_url: '',
      source_code_url: '',
      license: '',
    }),
    status: 201,
  },
  {
    name: 'takes the longest address and licence',
    request: createWith(keys, {
      website_url: 'https://example.org/'.padEnd(500, 'x'),
      license: 'M'.repeat(100),
    }),
    status: 201,
  },
  {
    name: 'refuses a longer address and licence',
    request: createWith(keys, {
      source_code_url: 'https://example.org/'.padEnd(501, 'x'),
      license: 'M'.repeat(101),
    }),
    status: 400,
    problems: ['body /source_code_url', 'body /license'],
  },
  {
    name: 'takes a licence of AppStream, which is no SPDX expression',
    request: createWith(keys, { license: 'LicenseRef-proprietary=https://example.org/eula?a#b' }),
    status: 201,
  },
  {
    name: 'takes licences in another form, and in other words',
    request: createWith(keys, { license: ' MIT|Apache-2.0; Freeware, some rights – ©, 自由 ' }),
    status: 201,
  },
  {
    name: 'refuses a licence with a bidirectional character',
    request: createWith(keys, { license: 'MIT\u202E' }),
    status: 400,
    problems: ['body /license'],
    message: /^license must not have the character U\+202E \(right-to-left override\)\.$/,
  },
  {
    name: 'refuses a licence with a control character',
    request: createWith(keys, { license: 'MIT\u007F' }),
    status: 400,
    problems: ['body /license'],
  },
  {
    name: 'refuses a licence of two lines, and no address',
    request: createWith(keys, { license: 'MIT\nApache-2.0', website_url: null }),
    status: 400,
    problems: ['body /license', 'body /website_url'],
  },
  {
    name: 'numbers the slug of a name that is taken',
    request: ['POST', '/apps', { key: keys.bob, json: { ...newApp, name: 'Tide Clock' } }],
    status: 201,
    data: expect.objectContaining({ slug: 'tide-clock-2' }),
  },
  {
    name: 'does not give the slug of a deleted app again',
    request: ['POST', '/apps', { key: keys.bob, json: { ...newApp, name: 'Gone' } }],
    status: 201,
    data: expect.objectContaining({ slug: 'gone-2' }),
  },
  {
    name: 'makes a slug of any script',
    request: createWith(keys, { name: 'Приложение' }),
    status: 201,
    data: expect.objectContaining({ slug: 'prilozhenie' }),
  },
  {
    name: 'makes a slug for a name without letters and digits',
    request: createWith(keys, { name: '!?' }),
    status: 201,
    data: expect.objectContaining({ slug: 'app' }),
  },
  {
    name: 'counts lengths in code points',
    request: [
      'POST',
      '/apps',
      {
        key: keys.ada,
        json: { ...newApp, name: '🎲'.repeat(100), description: `${'字'.repeat(19_999)} ` },
      },
    ],
    status: 201,
  },
  {
    name: 'takes line breaks and tabs in a description',
    request: createWith(keys, { description: 'a\r\nb\n\tc' }),
    status: 201,
  },
  {
    name: 'does not let an owner set the status',
    request: createWith(keys, { status: 'approved' }),
    status: 400,
    problems: ['body '],
    message: /^The body must leave out the read-only field: status\.$/,
  },
  {
    name: 'does not let an owner set downloads, rating and slug',
    request: createWith(keys, { total_downloads: 9, average_rating: 5, slug: 'x' }),
    status: 400,
    problems: ['body '],
    message: /read-only fields: total_downloads, average_rating, slug\.$/,
  },
  {
    name: 'refuses a name of white space',
    request: createWith(keys, { name: ' \t ' }),
    status: 400,
    problems: ['body /name'],
  },
  {
    name: 'refuses a name over 100 characters',
    request: createWith(keys, { name: 'a'.repeat(101) }),
    status: 400,
    problems: ['body /name'],
  },
  {
    name: 'refuses a name with a line break',
    request: createWith(keys, { name: 'Star\nMap' }),
    status: 400,
    problems: ['body /name'],
  },
  {
    name: 'refuses a NUL in a description',
    request: createWith(keys, { description: 'a\u0000b' }),
    status: 400,
    problems: ['body /description'],
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
    name: 'refuses a description over 20,000 characters',
    request: createWith(keys, { description: 'a'.repeat(20_001) }),
    status: 400,
    problems: ['body /description'],
  },
  {
    name: 'refuses a short description over 200 characters',
    request: createWith(keys, { short_description: 'a'.repeat(201) }),
    status: 400,
    problems: ['body /short_description'],
  },
  {
    name: 'refuses a short description with a line break',
    request: createWith(keys, { short_description: 'Two\nlines' }),
    status: 400,
    problems: ['body /short_description'],
  },
  {
    name: 'accepts a version with inner spaces',
    request: createWith(keys, { version: 'Varies with device' }),
    status: 201,
  },
  {
    name: 'refuses a no-break space at the end of a version',
    request: createWith(keys, { version: '1.0\u00a0' }),
    status: 400,
    problems: ['body /version'],
  },
  {
    name: 'refuses spaces around a package name',
    request: createWith(keys, { package_name: ' a.b.c ' }),
    status: 400,
    problems: ['body /package_name'],
  },
  {
    name: 'counts white space around a name before removing it',
    request: createWith(keys, { name: ` ${'a'.repeat(100)}` }),
    status: 400,
    problems: ['body /name'],
  },
  {
    name: 'refuses a version with a line break',
    request: createWith(keys, { version: '1.0\nbeta' }),
    status: 400,
    problems: ['body /version'],
    message: /^version must be on one line, without control characters\.$/,
  },
  {
    name: 'says in one sentence what is wrong with texts of white space',
    request: createWith(keys, { name: ' ', description: ' \n', version: ' ' }),
    status: 400,
    data: {
      code: 'invalid_request',
      errors: ['/name', '/description', '/version'].map((field) => ({
        in: 'body',
        field,
        message: 'must have a visible character',
      })),
    },
  },
  {
    name: 'refuses invisible names and versions',
    request: createWith(keys, { name: '\u200b', version: '\u3164' }),
    status: 400,
    problems: ['body /name', 'body /version'],
  },
  {
    name: 'refuses a bidirectional control in a name',
    request: createWith(keys, { name: 'a\u202eb' }),
    status: 400,
    data: {
      code: 'invalid_request',
      errors: [
        {
          in: 'body',
          field: '/name',
          message: 'must not have the character U+202E (right-to-left override)',
        },
      ],
    },
  },
  {
    name: 'refuses bidirectional controls in descriptions',
    request: createWith(keys, { description: 'a\u202eb', short_description: '\u2066a' }),
    status: 400,
    problems: ['body /description', 'body /short_description'],
  },
  {
    name: 'refuses an invisible description',
    request: createWith(keys, { description: '\u200b\n\u2060' }),
    status: 400,
    problems: ['body /description'],
  },
  {
    name: 'refuses tag characters, which hide text, in any field',
    request: createWith(keys, { name: 'Star\u{e0041}', description: 'a\u{e0062}\u{e007f}' }),
    status: 400,
    data: {
      code: 'invalid_request',
      errors: [
        { in: 'body', field: '/name', message: 'must not have the character U+E0041 (tag)' },
        {
          in: 'body',
          field: '/description',
          message: 'must not have the character U+E0062 (tag)',
        },
      ],
    },
  },
  {
    name: 'refuses a variation selector that selects nothing',
    request: createWith(keys, { name: '\u{e0100}' }),
    status: 400,
    problems: ['body /name'],
  },
  {
    name: 'accepts the invisible characters that emoji, flags and scripts need',
    request: [
      'POST',
      '/apps',
      {
        key: keys.ada,
        json: {
          ...newApp,
          name: '👩\u200d🔬❤\ufe0f 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 葛\u{e0100}',
          version: 'می\u200cخواهم क\u094d\u200dष',
          description: 'ភាសា\u200bខ្មែរ, C++\u200f: \u00ad',
        },
      },
    ],
    status: 201,
  },
  {
    name: 'refuses an empty version',
    request: createWith(keys, { version: '' }),
    status: 400,
    problems: ['body /version'],
  },
  {
    name: 'refuses a version over 50 characters',
    request: createWith(keys, { version: '1'.repeat(51) }),
    status: 400,
    problems: ['body /version'],
  },
  {
    name: 'refuses a package name of two parts',
    request: createWith(keys, { package_name: 'example.stars' }),
    status: 400,
    problems: ['body /package_name'],
  },
  {
    name: 'refuses a package name whose part begins with a digit',
    request: createWith(keys, { package_name: 'org.example.2048' }),
    status: 400,
    problems: ['body /package_name'],
  },
  {
    name: 'takes a package name of 255 characters, with digits, hyphens and underscores',
    request: createWith(keys, { package_name: `a-1.b_2.${'c'.repeat(247)}` }),
    status: 201,
  },
  {
    name: 'refuses a package name of 256 characters',
    request: createWith(keys, { package_name: `a.b.${'c'.repeat(252)}` }),
    status: 400,
    problems: ['body /package_name'],
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
    message: /^The package name ORG\.example\.TideClock is taken; choose another\.$/,
  },
  {
    name: 'refuses the package name of a deleted app',
    request: [
      'POST',
      '/apps',
      { key: keys.bob, json: { ...newApp, package_name: 'org.example.gone' } },
    ],
    status: 409,
    message: /^The package name org\.example\.gone is taken; choose another\.$/,
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
      errors: [expect.objectContaining({ field: '/package_name' })],
      app_id: apps.approved,
    },
  },
  {
    name: "says that one's own deleted app has the package name, and that an operator can restore it",
    request: createWith(keys, { package_name: 'org.example.gone' }),
    status: 409,
    message: new RegExp(
      `^The package name org\\.example\\.gone is taken by your deleted app ${apps.deleted}; ask the operators to restore it \\(app restore ${apps.deleted}\\), or choose another name\\.$`,
    ),
    // Its owner cannot read or update it.
    without: /"app_id"/,
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
  {
    name: 'refuses category 0',
    request: createWith(keys, { category_id: 0 }),
    status: 400,
    problems: ['body /category_id'],
  },
  {
    name: 'refuses a fractional category',
    request: createWith(keys, { category_id: 1.5 }),
    status: 400,
    problems: ['body /category_id'],
  },
]
