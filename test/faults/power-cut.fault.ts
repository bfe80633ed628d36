import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, inject, test } from 'vitest'
import { temporaryFolder } from '../support/database.ts'
import { addTo, between, expectNoLosses, findLosses, noTotals, noWrites, startWriting } from './acknowledged-writes.ts'
import { isCut } from './short-run.ts'

const cuts = isCut ? 2 : 20

let library = ''
beforeAll(() => {
  library = join(inject('world').source, '../power-cut.so')
  const source = `${import.meta.dirname}/power-cut.c`
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-lpthread'])
})

/** A directory, and what the disk has of it after a power cut. */
function disk() {
  const folder = temporaryFolder()
  const [from, to, notes] = [join(folder, 'seen'), join(folder, 'flushed'), join(folder, 'notes')]
  mkdirSync(from)
  mkdirSync(notes)
  copyFileSync(inject('world').source, join(from, 'apps.sqlite'))
  cpSync(from, to, { recursive: true })
  return {
    file: join(from, 'apps.sqlite'),
    remains: join(to, 'apps.sqlite'),
    env: { LD_PRELOAD: library, POWER_CUT_FROM: from, POWER_CUT_TO: to, POWER_CUT_NOTES: notes },
    pathIn: (path: string) => path.replace(from, to),
  }
}

test.runIf(process.platform === 'linux')(
  `power cut, ${cuts} times, which drops what was not flushed: no acknowledged write is lost`,
  async () => {
    const totals = noTotals()
    for (let cut = 0; cut < cuts; cut++) {
      const { file, remains, env, pathIn } = disk()
      const deeds = noWrites()
      const { acknowledged, kill } = await startWriting(file, deeds, cut, env)
      await acknowledged(between(20, 300))
      await kill()
      deeds.backups = deeds.backups.map(pathIn)
      expect(await findLosses(remains, deeds)).toEqual([])
      await expectNoLosses(remains, deeds)
      addTo(totals, deeds)
    }
    console.log(`power cut × ${cuts}: acknowledged`, totals, 'lost 0')
    expect(totals.created).toBeGreaterThan(cuts)
  },
)

test.runIf(process.platform === 'linux')(
  'the same with synchronous=NORMAL loses writes, so the simulation works',
  async () => {
    let lost = 0
    // Writes before the last checkpoint are on disk anyway; sometimes these are all.
    for (let cut = 0; lost === 0 && cut < 5; cut++) {
      const { file, remains, env } = disk()
      const deeds = noWrites()
      const normal = { ...env, NODE_OPTIONS: `--import=${import.meta.dirname}/normal.ts` }
      const { acknowledged, kill } = await startWriting(file, deeds, cut, normal)
      await acknowledged(200)
      await kill()
      lost = (await findLosses(remains, { ...deeds, backups: [] })).length
      console.log(`power cut with synchronous NORMAL: ${lost} of ${deeds.created.size} creates and others lost`)
    }
    expect(lost).toBeGreaterThan(0)
  },
)
