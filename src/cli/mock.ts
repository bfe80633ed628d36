import { Command } from 'commander'
import { readConfig } from '../config.ts'
import { mock } from '../http/mock.ts'
import { serveUntilSignal } from './run-server.ts'

export const mockCommand = () =>
  new Command('mock')
    .description("serve the document's examples over HTTP, without a database, for the tests of those who call")
    .addHelpText(
      'after',
      `
A request is checked as the server checks it, and refused alike. A valid one is
answered with the document's first example of success; the header Prefer asks
for another. Any key will do: Bearer anything. Nothing is kept: what was
created, changed or deleted does not show. The environment says where, as for
serve.

Examples, once it serves:
  curl http://localhost:3000/apps/42
  curl http://localhost:3000/apps/42 -H 'Prefer: code=404'
  curl http://localhost:3000/apps/42 -H 'Prefer: example=rejected'
  curl -X DELETE http://localhost:3000/apps/42 -H 'Authorization: Bearer any'`,
    )
    .action(serveMock)

async function serveMock() {
  // It opens no database, so any DATABASE_URL will do; and tests need no limits.
  const unused = { DATABASE_URL: '', WRITE_LIMIT: '0', REFUSED_KEY_LIMIT: '0', READ_LIMIT: '0' }
  const config = readConfig({ ...process.env, ...unused })
  await serveUntilSignal(
    config,
    mock(config.baseUrl),
    `serving a mock on ${config.baseUrl}/apps: examples alone, no database`,
  )
}
