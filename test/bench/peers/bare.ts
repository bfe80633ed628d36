import { createServer } from 'node:http'
import { readAnswers } from './answers.ts'

/** The limit of what a server on Node can give: answers that are ready, under their addresses, and nothing else. */

const answers = readAnswers(process.argv[2])

createServer((request, response) => {
  const answer = answers.get(request.url ?? '')
  if (answer) response.writeHead(200, answer.headers).end(answer.body)
  else response.writeHead(404).end()
}).listen(Number(process.env.PORT), '127.0.0.1')
