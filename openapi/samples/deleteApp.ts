import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'

const { BASE_URL, API_KEY } = process.env
const api = createClient<paths>({ baseUrl: BASE_URL })

const { data, error } = await api.DELETE('/apps/{id}', {
  headers: { Authorization: `Bearer ${API_KEY}` },
  params: { path: { id: 42 } },
})
if (error) throw new Error(error.message)
console.log(data.data.app_id, data.message)
