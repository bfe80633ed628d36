import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'

const { BASE_URL, API_KEY } = process.env
const api = createClient<paths>({
  baseUrl: BASE_URL,
  headers: { Authorization: `Bearer ${API_KEY}` },
})

const path = { id: 42 }
const read = await api.GET('/apps/{id}', {
  params: { path },
})
const etag = read.response.headers.get('ETag') ?? ''

// Refused with 412 where the app changed meanwhile.
const { data, error } = await api.PUT('/apps/{id}', {
  params: { path, header: { 'If-Match': etag } },
  body: { version: '2.5.0' },
})
if (error) throw new Error(error.message)
console.log(data.data.app.version)
