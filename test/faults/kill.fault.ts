import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { copyWorldFile } from '../support/database.ts'
import { randomFrom, seed } from '../support/random.ts'
import { isShortRun } from '../support/short-run.ts'
import {
  addTo,
  expectIntact,
  findLosses,
  noTotals,
  noWrites,
  startWriting,
} from './acknowledged-writes.ts'

const kills = isShortRun ? 5 : 50
/** Kills of one growing database before a new one is used. */
const rounds = 5

test(`no acknowledged write is lost by ${kills} kill -9 during creates, changes, decisions, an import and backups`, async () => {
  const random = randomFrom(seed)
  const totals = { ...noTotals(), duringImport: 0, duringBackup: 0 }
  for (let kill = 0; kill < kills; kill += rounds) {
    const file = copyWorldFile()
    const writes = noWrites()
    for (let round = kill; round < Math.min(kill + rounds, kills); round++) {
      const { acknowledged, kill: killAll } = await startWriting(file, writes, round)
      await acknowledged(3 + Math.floor(random.next() * 50))
      const wasRunning = await killAll()
      totals.duringImport += Number(wasRunning.import)
      totals.duringBackup += Number(wasRunning.backup)
      expect(await findLosses(file, writes)).toEqual([])
    }
    await expectIntact(file, writes)
    addTo(totals, writes)
    for (const backup of writes.backups) rmSync(backup)
  }
  console.log(`FUZZ_SEED=${seed}: kill -9 × ${kills}: acknowledged`, totals, 'lost 0')
})
