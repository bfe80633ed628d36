import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'

const { BASE_URL, API_KEY } = process.env
const api = createClient<paths>({ baseUrl: BASE_URL })

const { data, error } = await api.POST('/apps', {
  headers: { Authorization: `Bearer ${API_KEY}` },
  body: {
    name: 'Cloud Atlas',
    description: 'Names the clouds above you.',
    category_id: 3,
  },
})
if (error) {
  console.error(error.message, error.data)
  process.exit(1)
}
console.log(data.data.app_id, data.data.status)
