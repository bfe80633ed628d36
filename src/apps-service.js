#!/usr/bin/env node
import module from 'node:module'
import { join } from 'node:path'

// What follows is beyond older ones; their own words would be a stack of what they do not know.
if (Number.parseInt(process.versions.node, 10) < 24) {
  console.error(
    `apps-service: this is Node ${process.versions.node}, and it needs 24; make install, and npx takes that.`,
  )
  process.exit(1)
}

// JavaScript, since what is TypeScript has Node load what strips its types, 17 MB and 30 ms, unless it comes from this cache.
// There what was compiled once is not compiled again: half of the time that a command takes. Beside what npm installed, so that
// no other account can write there as in a folder for all; where this one cannot either, nothing is kept.
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/compiled'))

await import('./main.ts')
