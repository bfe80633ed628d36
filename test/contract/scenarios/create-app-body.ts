import type { RequestOptions } from '../../support/check.ts'
import { type Call, newApp } from '../valid-requests.ts'
import { createWith, jsonType, type Table } from './scenario.ts'

/** The body of createApp as a whole: media type, size, JSON, and which fields it has. */
export const createAppBody: Table = ({ keys }) => {
  const post = (options: RequestOptions): Call => ['POST', '/apps', { key: keys.ada, ...options }]
  return [
    {
      name: 'refuses bad JSON',
      request: post({ headers: jsonType, body: '{"name": "Star' }),
      status: 400,
      code: 'malformed_json',
    },
    {
      name: 'refuses bytes that are not UTF-8',
      request: post({ headers: jsonType, body: Buffer.from('7b226e616d65223a22ff227d', 'hex') }),
      status: 400,
      code: 'malformed_json',
    },
    {
      name: 'refuses a missing body',
      request: ['POST', '/apps', { key: keys.ada }],
      status: 400,
      code: 'invalid_request',
      problems: ['body '],
    },
    {
      name: 'reports parameters together with a missing body',
      request: ['POST', '/apps?draft=1', { key: keys.ada }],
      status: 400,
      problems: ['query draft', 'body '],
    },
    {
      name: 'refuses a repeated field',
      request: post({
        headers: jsonType,
        body: '{"name":"A","description":"{\\"name\\":1}","category_id":1,"name":"B"}',
      }),
      status: 400,
      code: 'malformed_json',
      problems: ['body /name'],
    },
    {
      name: 'refuses a repeated field, however it is escaped',
      request: post({ headers: jsonType, body: '{"name\\u0085":1,"name\u0085":2}' }),
      status: 400,
      code: 'malformed_json',
      problems: ['body /name\u0085'],
    },
    {
      name: 'shortens the long name of a field in a problem',
      request: post({ headers: jsonType, body: `{"${'x'.repeat(300)}":"\\ud83d"}` }),
      status: 400,
      problems: [
        `body /${'x'.repeat(199)}`,
        'body /name',
        'body /description',
        'body /category_id',
      ],
    },
    {
      name: 'treats an empty chunked body as missing',
      request: post({ headers: { ...jsonType, 'Transfer-Encoding': 'chunked' }, body: '' }),
      status: 400,
      code: 'invalid_request',
      problems: ['body '],
    },
    {
      name: 'checks the charset before the size of the body',
      request: post({
        headers: { 'Content-Type': 'application/json; charset=utf-16' },
        body: 'a'.repeat(300_000),
      }),
      status: 415,
    },
    {
      name: 'refuses a body that is nested too deeply',
      request: post({
        headers: jsonType,
        body: `{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      }),
      status: 400,
    },
    {
      name: 'refuses a body that is an array',
      request: post({ json: [newApp] }),
      status: 400,
      problems: ['body '],
    },
    {
      name: 'refuses a body that is null',
      request: post({ json: null }),
      status: 400,
      problems: ['body '],
    },
    {
      name: 'refuses a body that is text',
      request: post({ json: 'x' }),
      status: 400,
      problems: ['body '],
    },
    {
      name: 'reports every missing field',
      request: post({ json: {} }),
      status: 400,
      problems: ['body /name', 'body /description', 'body /category_id'],
    },
    {
      name: 'reports every field of a wrong type',
      request: post({ json: { name: 1, description: [], category_id: '1', version: null } }),
      status: 400,
      problems: ['body /name', 'body /description', 'body /category_id', 'body /version'],
    },
    {
      name: 'refuses an unknown field',
      request: createWith(keys, { colour: 'red' }),
      status: 400,
      problems: ['body /colour'],
    },
    {
      name: 'refuses a field named __proto__',
      request: post({
        headers: jsonType,
        body: '{"name":"A","description":"B","category_id":1,"__proto__":{}}',
      }),
      status: 400,
      problems: ['body /__proto__'],
    },
    {
      name: 'refuses text/plain',
      request: post({ headers: { 'Content-Type': 'text/plain' }, body: JSON.stringify(newApp) }),
      status: 415,
      code: 'unsupported_media_type',
    },
    {
      name: 'refuses a form',
      request: post({
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: 'name=A',
      }),
      status: 415,
    },
    {
      name: 'refuses JSON in another charset',
      request: post({
        headers: { 'Content-Type': 'application/json; charset=utf-16' },
        body: JSON.stringify(newApp),
      }),
      status: 415,
    },
    {
      name: 'refuses JSON in another charset, despite white space around its name',
      request: post({
        headers: { 'Content-Type': 'application/json; charset = utf-16le' },
        body: Buffer.from(JSON.stringify(newApp), 'utf16le'),
      }),
      status: 415,
    },
    {
      name: 'refuses a content encoding',
      request: post({
        headers: { ...jsonType, 'Content-Encoding': 'gzip' },
        body: JSON.stringify(newApp),
      }),
      status: 415,
      message: /^The Content-Encoding is not supported; send the body uncompressed\.$/,
    },
    {
      name: 'takes a charset of UTF-8',
      request: post({
        headers: { 'Content-Type': 'application/json; charset=UTF-8' },
        body: JSON.stringify(newApp),
      }),
      status: 201,
    },
    {
      name: 'takes another label of UTF-8',
      request: post({
        headers: { 'Content-Type': 'application/json; charset=utf8' },
        body: JSON.stringify(newApp),
      }),
      status: 201,
    },
    {
      name: 'refuses a body of 300 KB',
      request: createWith(keys, { description: 'a'.repeat(300_000) }),
      status: 413,
      code: 'payload_too_large',
    },
  ]
}
