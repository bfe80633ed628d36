import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'

const api = createClient<paths>({
  baseUrl: 'http://localhost:3000',
})

const { data, error } = await api.GET('/apps/{id}', {
  params: { path: { id: 42 } },
})
if (error) throw new Error(error.message)

const { app } = data.data
console.log(app.name, app.average_rating)
for (const review of app.reviews) {
  console.log(review.rating, review.comment)
}
