import { expect, onTestFinished, test } from 'vitest'
import { addModerator } from '../../src/accounts/moderator-store.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { findEntriesAfter } from '../../src/moderation/entries.ts'
import { copyWorld } from '../support/database.ts'

test('entries are read while another process writes, and those of its write follow', async () => {
  const address = await copyWorld()
  const [reader, writer] = [openDatabase(address), openDatabase(address)]
  onTestFinished(() => reader.close())
  onTestFinished(() => writer.close())
  const read = async (after: number) => (await findEntriesAfter(reader, after, 50)).entries
  const last = (await read(0)).at(-1)?.id ?? 0
  await writer.write(async (runner) => {
    await addModerator(runner, 'Eve', { operator: 'test' })
    expect((await read(last - 1)).map(({ id }) => id)).toEqual([last])
  })
  expect((await read(last)).map(({ action }) => action)).toEqual(['moderator add'])
})
