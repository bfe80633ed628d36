import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'

const api = createClient<paths>({
  baseUrl: 'http://localhost:3000',
})

const { data, error } = await api.POST('/apps', {
  headers: { Authorization: 'Bearer apps_YOUR_KEY' },
  body: {
    name: 'Cloud Atlas',
    description: 'Names the clouds above you.',
    category_id: 3,
  },
})
if (error?.data.code === 'unknown_category') {
  console.error('Choose from', error.data.categories)
}
if (error)
  throw new Error(error.message, { cause: error.data })

console.log(data.data.app_id, data.data.status)
