import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'

const api = createClient<paths>({
  baseUrl: 'http://localhost:3000',
})

const { data, error } = await api.DELETE('/apps/{id}', {
  headers: { Authorization: 'Bearer apps_YOUR_KEY' },
  params: { path: { id: 42 } },
})
if (error) throw new Error(error.message)
console.log(data.data.app_id, data.message)
