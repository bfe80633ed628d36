import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { copyWorldFile } from '../support/database.ts'
import { addTo, between, expectNoLosses, findLosses, noTotals, noWrites, startWriting } from './acknowledged-writes.ts'
import { isCut } from './short-run.ts'

const kills = isCut ? 5 : 50
/** Rounds on the same growing database, before a new one. */
const rounds = 5

test(`kill -9, ${kills} times, during creates, changes, decisions, import and backup: no acknowledged write is lost`, async () => {
  const totals = { ...noTotals(), amidImport: 0, amidBackup: 0 }
  for (let kill = 0; kill < kills; kill += rounds) {
    const file = copyWorldFile()
    const deeds = noWrites()
    for (let round = kill; round < Math.min(kill + rounds, kills); round++) {
      const { acknowledged, kill: killAll } = await startWriting(file, deeds, round)
      await acknowledged(between(20, 300))
      const working = await killAll()
      totals.amidImport += Number(working.importing)
      totals.amidBackup += Number(working.backups)
      expect(await findLosses(file, deeds)).toEqual([])
    }
    await expectNoLosses(file, deeds)
    addTo(totals, deeds)
    for (const backup of deeds.backups) rmSync(backup)
  }
  console.log(`kill -9 × ${kills}: acknowledged`, totals, 'lost 0')
  expect(totals.created).toBeGreaterThan(kills)
  expect(totals.changed).toBeGreaterThan(kills)
})
