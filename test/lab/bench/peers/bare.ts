import { createServer } from 'node:http'
import { readResponses } from './responses.ts'

/** The upper limit for a server on Node: sends prepared responses, and does nothing else. */

const responses = readResponses(process.argv[2])

createServer((request, response) => {
  const prepared = responses.get(request.url ?? '')
  if (prepared) response.writeHead(200, prepared.headers).end(prepared.body)
  else response.writeHead(404).end()
}).listen(Number(process.env.PORT), '127.0.0.1')
