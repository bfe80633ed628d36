import { readFileSync, writeFileSync } from 'node:fs'
import document from '../generated/openapi.json' with { type: 'json' }

/** Copies the document's version into the client's package. */

for (const name of ['package.json', 'package-lock.json']) {
  const file = `${import.meta.dirname}/../clients/typescript/${name}`
  const text = readFileSync(file, 'utf8')
  const content = JSON.parse(text)
  content.version = document.info.version
  if (content.packages) content.packages[''].version = document.info.version
  const updated = `${JSON.stringify(content, null, 2)}\n`
  // make reinstalls what a newer package.json needs, so leave an unchanged file alone.
  if (updated !== text) writeFileSync(file, updated)
}
