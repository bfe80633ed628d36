import express from 'express'
import { readResponses } from './responses.ts'

/** Sends prepared responses through Express. */

const app = express()
app.disable('x-powered-by')
app.set('etag', false)
app.set('query parser', false)

for (const [target, { headers, body }] of readResponses(process.argv[2])) {
  const named = Object.fromEntries(
    headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1] ?? '']] : [])),
  )
  app.get(target, (_request, response) => {
    response.set(named).send(body)
  })
}

app.listen(Number(process.env.PORT), '127.0.0.1')
