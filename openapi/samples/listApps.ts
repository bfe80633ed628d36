import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'

const api = createClient<paths>({
  baseUrl: 'http://localhost:3000',
})

let pages = 1
for (let page = 1; page <= pages; page++) {
  const { data, error } = await api.GET('/apps', {
    params: { query: { search: 'tide', page } },
  })
  if (error) throw new Error(error.message)

  for (const app of data.data.apps) {
    console.log(app.id, app.name)
  }
  pages = data.data.pagination.total_pages
}
