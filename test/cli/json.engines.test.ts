import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { findOrAddDeveloper } from '../../src/accounts/account-store.ts'
import { programFor } from '../../src/cli/program.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { toLines } from '../support/catalogue-file.ts'
import { leafCommands } from '../support/commands.ts'
import {
  copyWorld,
  copyWorldFile,
  emptyCatalogueUrl,
  temporaryFolder,
} from '../support/database.ts'
import { run, runProcess } from '../support/process.ts'
import { startService } from '../support/service.ts'

const { keys, apps } = inject('world')

/** A file with a valid line and an invalid one. */
function catalogueFile(): string {
  const file = join(temporaryFolder(), 'apps.ndjson')
  const app = {
    name: 'Star Map',
    description: 'The sky.',
    category: 'tools',
    developer_name: 'Ada',
  }
  writeFileSync(file, toLines([{ ...app, version: '' }, app, {}]))
  return file
}

async function changeListedApp(databaseUrl: string) {
  const service = await startService({ databaseUrl })
  const changed = await service.request('PUT', `/apps/${apps.approved}`, {
    key: keys.ada,
    json: { name: 'Bird Song' },
  })
  expect(changed.status).toBe(200)
}

/** Returns the id of the deleted app that loses its package name. */
async function takeNameOfDeleted(databaseUrl: string): Promise<string> {
  const service = await startService({ databaseUrl })
  const changed = await service.request('PUT', `/apps/${apps.pending}`, {
    key: keys.ada,
    json: { package_name: 'org.example.gone' },
  })
  expect(changed.status).toBe(200)
  return String(apps.deleted)
}

function decisionFile(): string {
  const file = join(temporaryFolder(), 'decisions.ndjson')
  const decisions = [apps.pending, 99].map((id) => ({ id, decision: 'approve' }))
  writeFileSync(file, toLines(decisions))
  return file
}

async function issueKey(databaseUrl: string, developer: string) {
  const args = ['key', 'issue', '--developer', developer, '--expires', '7d']
  expect((await run(args, { DATABASE_URL: databaseUrl })).code).toBe(0)
}

async function prepareStatus(databaseUrl: string) {
  await issueKey(databaseUrl, 'Ada')
  await run(['import', catalogueFile()], { DATABASE_URL: databaseUrl })
}

async function addDeveloper(databaseUrl: string, name: string) {
  const database = openDatabase(databaseUrl)
  await database.write((runner) => findOrAddDeveloper(runner, name))
  await database.close()
}

async function addModerator(databaseUrl: string): Promise<string> {
  const { stdout } = await run(['moderator', 'add', 'Ada', '--json'], { DATABASE_URL: databaseUrl })
  return JSON.parse(stdout).id
}

type Row = [command: string, args: (databaseUrl: string) => string[] | Promise<string[]>]

const rows: Row[] = [
  ['status', (databaseUrl) => prepareStatus(databaseUrl).then(() => [])],
  ['key issue', () => ['--developer', 'Ada']],
  ['key list', () => []],
  ['key revoke', () => [keys.bob]],
  ['category add', () => ['--slug', 'travel', '--name', 'Travel']],
  ['category list', () => []],
  ['category rename', () => ['tools', '--name', 'Useful']],
  ['category remove', () => ['empty']],
  ['moderation queue', (databaseUrl) => changeListedApp(databaseUrl).then(() => ['--changed'])],
  ['moderation show', () => [String(apps.approved)]],
  ['moderation approve', () => [String(apps.pending), '99']],
  ['moderation reject', () => [String(apps.pending), '99', '--reason', 'Spam']],
  ['moderation reopen', () => [String(apps.approved), '99']],
  ['moderation decide', () => [decisionFile()]],
  ['app list', () => []],
  ['app restore', (databaseUrl) => takeNameOfDeleted(databaseUrl).then((id) => [id])],
  ['app transfer', () => [String(apps.approved), '--to', 'Bob']],
  ['developer list', () => []],
  ['developer contact', () => ['Ada']],
  ['developer rename', () => ['Ada', '--to', 'Lovelace']],
  ['developer remove', (databaseUrl) => addDeveloper(databaseUrl, 'Eve').then(() => ['Eve'])],
  ['moderator add', () => ['Ada']],
  ['moderator list', (databaseUrl) => addModerator(databaseUrl).then(() => [])],
  ['moderator revoke', (databaseUrl) => addModerator(databaseUrl).then((id) => [id])],
  ['review list', () => ['--app', String(apps.approved)]],
  ['review remove', () => ['1', '--reason', 'Spam']],
  ['counters', () => [catalogueFile()]],
  ['audit', () => []],
  ['import', () => [catalogueFile()]],
  ['backup', () => [join(temporaryFolder(), 'backup.sqlite')]],
  ['restore', () => [copyWorldFile()]],
  ['copy', async () => ['--to', await emptyCatalogueUrl()]],
]

/** Objects whose fields are names of columns or tables. */
const named = ['before', 'after', 'rows']

describe('help has exactly the fields that --json prints:', () => {
  test.for(rows)('%s', async ([command, args], { skip }) => {
    const isOfFiles = ['backup', 'restore'].includes(command)
    skip(isOfFiles && inject('engine') !== 'sqlite', 'backups are of files')
    const address = await copyWorld()
    const words = command.split(' ')
    // On SQLite as a process, so that each command is seen to load its modules and to end.
    const runOn = { sqlite: runProcess, postgres: run }[inject('engine')]
    const printed = await runOn([...words, ...(await args(address)), '--json'], {
      DATABASE_URL: address,
      // Of `status`.
      APPS_SERVICE_BACKUPS: temporaryFolder(),
    })
    const { names, elsewhere } = namesInHelp((await run([...words, '--help'])).stdout)
    expect(printed.stdout, printed.stderr).not.toBe('')
    expect(names).toEqual(namesIn(JSON.parse(printed.stdout), [...elsewhere, ...named]))
  })

  test('for every command with --json', async () => {
    const printing = leafCommands(await programFor('')).filter(({ command }) =>
      command.options.some(({ long }) => long === '--json'),
    )
    expect(printing.map(({ name }) => name).toSorted()).toEqual(
      rows.map(([command]) => command).toSorted(),
    )
  })
})

/**
 * The names in braces after "JSON:", and those that another help describes: `history: … as in
 * audit`.
 */
function namesInHelp(help: string) {
  const [, paragraph = ''] = /\nJSON: ([\s\S]*?)(?:\n\n|$)/.exec(help) ?? []
  const objects = [...paragraph.matchAll(/\{(?:[^{}]|\{[^{}]*\})*\}/g)].join()
  const names = [...objects.matchAll(/[{,]\s*(\w+)/g)].map(([, name = '']) => name)
  const elsewhere = [...objects.matchAll(/(\w+):[^{}[\],]*as in /g)].map(([, name = '']) => name)
  return { names: [...new Set(names)].toSorted(), elsewhere }
}

/** At any depth, but not below the ones that are described elsewhere. */
function namesIn(printed: unknown, elsewhere: string[]): string[] {
  if (typeof printed !== 'object' || printed === null) return []
  const names = Object.entries(printed).flatMap(([name, value]) => {
    const below = elsewhere.includes(name) ? [] : namesIn(value, elsewhere)
    return Array.isArray(printed) ? below : [name, ...below]
  })
  return [...new Set(names)].toSorted()
}
