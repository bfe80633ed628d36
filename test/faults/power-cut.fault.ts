import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, inject, test } from 'vitest'
import { temporaryFolder } from '../support/database.ts'
import { isShortRun } from '../support/short-run.ts'
import {
  addTo,
  between,
  expectIntact,
  findLosses,
  noTotals,
  noWrites,
  startWriting,
} from './acknowledged-writes.ts'

const cuts = isShortRun ? 2 : 20

let library = ''
beforeAll(() => {
  library = join(inject('world').source, '../power-cut.so')
  const source = `${import.meta.dirname}/power-cut.c`
  execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-lpthread'])
})

/** A directory with a database, and a copy of what would remain on disk after a power cut. */
function createDisk() {
  const folder = temporaryFolder()
  const [from, to, log] = [join(folder, 'written'), join(folder, 'flushed'), join(folder, 'log')]
  mkdirSync(from)
  mkdirSync(log)
  copyFileSync(inject('world').source, join(from, 'apps.sqlite'))
  cpSync(from, to, { recursive: true })
  return {
    file: join(from, 'apps.sqlite'),
    flushedFile: join(to, 'apps.sqlite'),
    env: { LD_PRELOAD: library, POWER_CUT_FROM: from, POWER_CUT_TO: to, POWER_CUT_LOG: log },
    flushedPath: (path: string) => path.replace(from, to),
  }
}

test.runIf(process.platform === 'linux')(
  `no acknowledged write is lost by ${cuts} power cuts, which drop everything that was not flushed`,
  async () => {
    const totals = noTotals()
    for (let cut = 0; cut < cuts; cut++) {
      const { file, flushedFile, env, flushedPath } = createDisk()
      const writes = noWrites()
      const { acknowledged, kill } = await startWriting(file, writes, cut, env)
      await acknowledged(between(20, 300))
      await kill()
      writes.backups = writes.backups.map(flushedPath)
      expect(await findLosses(flushedFile, writes)).toEqual([])
      await expectIntact(flushedFile, writes)
      addTo(totals, writes)
    }
    console.log(`power cut × ${cuts}: acknowledged`, totals, 'lost 0')
    expect(totals.created).toBeGreaterThan(cuts)
  },
)

test.runIf(process.platform === 'linux')(
  'with synchronous=NORMAL, power cuts lose writes, so the simulation works',
  async () => {
    let lost = 0
    // Writes before the last checkpoint are on disk, sometimes all of them.
    for (let cut = 0; lost === 0 && cut < 5; cut++) {
      const { file, flushedFile, env } = createDisk()
      const writes = noWrites()
      const normal = {
        ...env,
        NODE_OPTIONS: `--import=${import.meta.dirname}/synchronous-normal.ts`,
      }
      const { acknowledged, kill } = await startWriting(file, writes, cut, normal)
      await acknowledged(200)
      await kill()
      lost = (await findLosses(flushedFile, { ...writes, backups: [] })).length
      console.log(
        `power cut with synchronous NORMAL: ${lost} writes lost, ${writes.created.size} apps created`,
      )
    }
    expect(lost).toBeGreaterThan(0)
  },
)
