import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'

const api = createClient<paths>({
  baseUrl: 'http://localhost:3000',
  headers: { Authorization: 'Bearer apps_YOUR_KEY' },
})

const path = { id: 42 }
const read = await api.GET('/apps/{id}', {
  params: { path },
})
if (read.error) throw new Error(read.error.message)
const etag = read.response.headers.get('ETag') ?? ''

// Returns 412 if the app has changed since it was read.
const { data, error } = await api.PUT('/apps/{id}', {
  params: { path, header: { 'If-Match': etag } },
  body: { version: '2.5.0' },
})
if (error) throw new Error(error.message)
console.log(data.data.app.version)
