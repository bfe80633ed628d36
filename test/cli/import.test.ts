import { spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { exampleLine as app, exampleReview as review, toLines } from '../support/catalogue-file.ts'
import {
  copyWorld,
  emptyCatalogueUrl,
  emptyDatabaseUrl,
  temporaryFolder,
} from '../support/database.ts'
import { commandLine, executable, expectRefusal, run } from '../support/process.ts'

/**
 * What import and counters print, their exit codes and files. What lines do is in import-export/,
 * and what the rejects have is in rejects-file.test.ts.
 */

/** A file with these lines, and a function that imports it. */
async function withFile(lines: (object | string)[], name = 'apps.ndjson') {
  const env = { DATABASE_URL: await copyWorld() }
  const file = join(temporaryFolder(), name)
  writeFileSync(file, toLines(lines))
  return {
    file,
    rejects: `${file}.rejects.ndjson`,
    problems: `${file}.rejects.ndjson.problems`,
    rewrite: (others: (object | string)[]) => writeFileSync(file, toLines(others)),
    importFile: (...options: string[]) => run(['import', file, ...options], env),
    run: (...args: string[]) => run(args, env),
  }
}

describe('counts', () => {
  test('are of what the lines did; the second time, nothing', async () => {
    const { importFile, rejects } = await withFile([app, { ...app, name: 'Moon Map' }])
    const first = await importFile()
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toMatch(
      /^2 lines in [\d.]+ s \(\d+\/s\): 2 created, 0 updated, 0 unchanged\.\n$/,
    )
    expect((await importFile()).stdout).toMatch(/0 created, 0 updated, 2 unchanged/)
    expect(existsSync(rejects)).toBe(false)
  })

  test('are in the singular of one line', async () => {
    const { runWith } = commandLine(await copyWorld())
    expect((await runWith(toLines([app]), 'import', '-')).stdout).toMatch(/^1 line in /)
    const counters = { slug: 'tide-clock', total_downloads: 1 }
    expect((await runWith(toLines([counters]), 'counters', '-')).stdout).toBe(
      '1 line: 1 updated, 0 unchanged.\n',
    )
  })

  test.for(['import', 'counters'])(
    '%s: an empty input is no failure, and is said to be empty',
    async (command) => {
      const { run: onFile, file, rewrite } = await withFile([])
      for (const text of ['', '\n\n']) {
        writeFileSync(file, gzipSync(text))
        const { code, stdout, stderr } = await onFile(command, file, '--json')
        expect([code, stderr]).toEqual([0, `${file} is empty; nothing was changed.\n`])
        expect(JSON.parse(stdout).lines).toBe(0)
      }
      rewrite(['x'])
      const other = await onFile(command, file)
      expect([other.code, other.stderr]).toEqual([1, expect.not.stringContaining(' is empty')])
    },
  )
})

describe('refused lines', () => {
  test('are counted by reason, and the others imported', async () => {
    const { file, importFile, rejects, problems } = await withFile([
      app,
      '',
      '{"name": ""}',
      'not json',
      { ...app, name: 'Moon Map' },
    ])
    const { code, stdout, stderr } = await importFile('--json')
    expect(code).toBe(1)
    const [advice, ...reasons] = stderr.trimEnd().split('\n')
    expect(advice).toBe(
      `2 refused: see ${problems}; correct the lines in ${rejects} and import that file`,
    )
    expect(reasons.map((reason) => reason.split(': ')[0])).toEqual([
      '  1 × /description',
      '  1 × /category',
      '  1 × /developer_name',
      '  1 × /name',
      '  1 × line',
    ])
    expect(JSON.parse(stdout)).toEqual({
      lines: 4,
      created: 2,
      updated: 0,
      unchanged: 0,
      rejected: 2,
      left_out: 0,
      seconds: expect.any(Number),
      rejects,
      problems,
      reasons: reasons.map(() => expect.objectContaining({ count: 1 })),
    })
    expect(readFileSync(rejects, 'utf8')).toBe('{"name": ""}\nnot json\n')
    const [first, second] = readFileSync(problems, 'utf8').trimEnd().split('\n')
    expect(JSON.parse(first ?? '')).toMatchObject({
      line: 3,
      problems: ['/description', '/category', '/developer_name', '/name'].map((field) => ({
        field,
      })),
    })
    expect(JSON.parse(second ?? '')).toMatchObject({ line: 4, problems: [{ field: '' }] })
    expect(readdirSync(join(file, '..')).toSorted()).toHaveLength(3)
  })

  test('have one reason if only their values differ, with the first as its example', async () => {
    const addresses = ['ftp://example.org/', 'ftp://example.com/']
    const lines = [
      ...addresses.map((website_url) => ({ ...app, name: website_url, website_url })),
      ...['Ada', 'Bob'].map((developer_name) => ({
        ...app,
        slug: developer_name.toLowerCase(),
        developer_name,
      })),
      ...['ada', 'bob'].map((slug) => ({ ...app, slug, developer_name: 'Eve' })),
      { ...app, deleted_at: 'a\nb' },
    ]
    const { importFile, problems } = await withFile(lines)
    const { stderr, stdout } = await importFile('--json')
    expect(stderr.trimEnd().split('\n').slice(1)).toEqual([
      expect.stringMatching(
        /^ {2}2 × \/slug: belongs .*; for example \/slug: .* of Ada: .* app transfer \d+ --to 'Eve' /,
      ),
      expect.stringMatching(/^ {2}1 × \/deleted_at: must .*; got "a b"$/),
      `2 lines with values left out: see ${problems}`,
      expect.stringMatching(
        /^ {2}2 × \/website_url: must .*; got "ftp:\/\/example\.org\/", for example$/,
      ),
    ])
    expect(JSON.parse(stdout).reasons[0]).toEqual({
      reason: expect.stringMatching(/^\/slug: /),
      count: 2,
      example: expect.stringMatching(/^\/slug: .* of Ada/),
    })
  })

  test.for([
    { reasons: 11, more: '  and 1 more reason' },
    { reasons: 12, more: '  and 2 more reasons' },
  ])('have up to ten reasons, the most frequent first: $reasons', async ({ reasons, more }) => {
    const lines = Array.from({ length: reasons }, (_, field) =>
      Array.from({ length: reasons - field }, () => ({ ...app, [`field${field}`]: 1 })),
    )
    const { importFile, rejects } = await withFile(lines.flat())
    symlinkSync('/dev/null', rejects)
    const { stderr } = await importFile()
    const [total, ...printed] = stderr.trimEnd().split('\n')
    expect(total).toBe(`${lines.flat().length} refused`)
    expect(printed.map((line) => line.split(':')[0])).toEqual([
      ...lines.slice(0, 10).map(({ length }, field) => `  ${length} × /field${field}`),
      more,
    ])
  })

  test('can be corrected and imported, and are refused again', async () => {
    const moon = { ...app, name: 'Moon Map', slug: 'moon', status: '' }
    const { file, rejects, run: command } = await withFile([{ ...app, name: '' }, moon])
    await command('import', file)
    const corrected = readFileSync(rejects, 'utf8').replace('"name":""', '"name":"Star Map"')
    writeFileSync(rejects, corrected)
    expect((await command('import', rejects)).stdout).toMatch(/1 created/)
    const again = `${rejects}.rejects.ndjson`
    expect(readFileSync(again, 'utf8')).toBe(toLines([moon]))
    expect(JSON.parse(readFileSync(`${again}.problems`, 'utf8'))).toMatchObject({
      line: 2,
      slug: 'moon',
      problems: [{ field: '/status' }],
    })
  })

  test('of an earlier run are replaced, kept if it cannot start, and removed if there are none', async () => {
    const { rewrite, importFile, file, rejects, problems } = await withFile([{ ...app, rating: 5 }])
    await importFile()
    rewrite([{ ...app, stars: 5 }])
    await importFile()
    const both = () => [rejects, problems].map((path) => readFileSync(path, 'utf8'))
    const second = both()
    expect(second).toEqual([
      expect.stringContaining('"stars":5'),
      expect.stringContaining('/stars'),
    ])
    expect(second.join()).not.toContain('rating')
    rewrite([app])
    expect((await run(['import', file], { DATABASE_URL: await emptyDatabaseUrl() })).code).toBe(1)
    expect((await importFile('--dry-run')).code).toBe(0)
    // A file given with --rejects may belong to another import.
    expect((await importFile('--rejects', rejects)).code).toBe(0)
    expect(both()).toEqual(second)
    expect((await importFile()).code).toBe(0)
    expect([rejects, problems].filter(existsSync)).toEqual([])
  })

  test('of standard input are written beside the working directory’s files, and never removed', async () => {
    const folder = temporaryFolder()
    const env = { PATH: process.env.PATH, DATABASE_URL: await copyWorld() }
    for (const [line, status] of [
      [{ ...app, rating: 5 }, 1],
      // The rejects may be of another source.
      [app, 0],
    ] as const) {
      const input = toLines([line])
      expect(spawnSync(executable, ['import', '-'], { cwd: folder, env, input }).status).toBe(
        status,
      )
      expect(readdirSync(folder)).toEqual(['stdin.rejects.ndjson', 'stdin.rejects.ndjson.problems'])
    }
  })

  test('overwrite no other file, not even that of standard input', async () => {
    const { file, importFile, rejects, run: command } = await withFile([app, {}])
    writeFileSync(rejects, toLines([app]))
    expectRefusal(await importFile(), /^apps-service: cannot write rejects to \S+: it already/)
    const input = openSync(file, 'r')
    const { stderr } = spawnSync(executable, ['import', '-', '--rejects', file], {
      env: { PATH: process.env.PATH, DATABASE_URL: await copyWorld() },
      stdio: [input, 'pipe', 'pipe'],
      encoding: 'utf8',
    })
    closeSync(input)
    expect(stderr).toMatch(/it is the file to import; use --rejects FILE\n$/)
    expect(readFileSync(file, 'utf8')).toBe(toLines([app, {}]))
    expect(readFileSync(rejects, 'utf8')).toBe(toLines([app]))
    expect((await command('app', 'list', 'star map')).stdout).not.toContain('Star Map')
  })
})

describe('values that are left out', () => {
  const odd = { ...app, website_url: 'ftp://example.org/', license: 'a\nb' }
  const entry = (line: number, ...fields: string[]) => ({
    line,
    problems: fields.map((field) => ({ field, message: expect.any(String), left_out: true })),
  })
  const entriesOf = (file: string) =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text))

  test('are counted by field and reason, and are no failure; a dry run shows them before', async () => {
    const { importFile, rejects, problems } = await withFile([odd, { ...odd, name: 'Moon' }])
    for (const options of [['--dry-run'], []]) {
      const { code, stdout, stderr } = await importFile(...options)
      expect([code, stderr.trimEnd().split('\n')]).toEqual([
        0,
        [
          `2 lines with values left out: see ${problems}`,
          expect.stringMatching(/^ {2}2 × \/website_url: must begin .*, for example$/),
          expect.stringMatching(/^ {2}2 × \/license: must be on one line.*, for example$/),
        ],
      ])
      expect(stdout).toMatch(/: 2 created, 0 updated, 0 unchanged/)
      expect(existsSync(rejects)).toBe(false)
      expect(entriesOf(problems)).toEqual([
        entry(1, '/website_url', '/license'),
        entry(2, '/website_url', '/license'),
      ])
    }
    const { code, stdout } = await importFile('--json')
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      {
        ...{ unchanged: 2, rejected: 0, left_out: 2, problems },
        reasons: ['/website_url', '/license'].map((field) => ({
          reason: expect.stringContaining(field),
          count: 2,
          left_out: true,
        })),
      },
    ])
    expect(JSON.parse(stdout)).not.toHaveProperty('rejects')
  })

  test('are in the file of problems, which stands alone and is replaced, or removed', async () => {
    const { rewrite, importFile, rejects, problems } = await withFile([{ ...odd, status: 'new' }])
    expect((await importFile()).code).toBe(1)
    expect(entriesOf(problems)).toEqual([
      {
        line: 1,
        problems: [
          { field: '/status', message: expect.any(String) },
          ...entry(1, '/website_url', '/license').problems,
        ],
      },
    ])
    expect(existsSync(rejects)).toBe(true)
    rewrite([odd])
    expect((await importFile()).code).toBe(0)
    expect(entriesOf(problems)).toEqual([entry(1, '/website_url', '/license')])
    expect(existsSync(rejects)).toBe(false)
    rewrite([
      { ...odd, name: '' },
      { ...odd, license: 'MIT' },
    ])
    expect((await importFile()).code).toBe(1)
    expect(readFileSync(rejects, 'utf8')).toBe(toLines([{ ...odd, name: '' }]))
    expect(entriesOf(problems)).toMatchObject([{ line: 1 }, entry(2, '/website_url')])
    rewrite([app])
    expect((await importFile()).code).toBe(0)
    expect([rejects, problems].filter(existsSync)).toEqual([])
  })

  test('are only counted if the rejects go to a device', async () => {
    const { importFile } = await withFile([odd])
    const { code, stderr } = await importFile('--rejects', '/dev/null')
    expect([code, stderr.split('\n')[0]]).toEqual([0, '1 line with values left out'])
  })
})

describe('a file that cannot be read', () => {
  test.for([
    {
      command: 'import',
      lines: [app, '{'],
      printed: /^2 lines in .*: 1 created, 0 updated, 0 unchanged\.\n$/,
    },
    {
      command: 'counters',
      lines: [{ slug: 'tide-clock', total_downloads: 7 }, '{'],
      printed: /^2 lines: 1 updated, 0 unchanged\.\n$/,
    },
  ])('to its end: $command says where, and what it did', async ({ command, lines, printed }) => {
    const { file, run: onFile } = await withFile([])
    writeFileSync(file, gzipSync(toLines(lines)).subarray(0, -1))
    const { code, stdout, stderr } = await onFile(command, file)
    expect(code).toBe(1)
    expect(stdout).toMatch(printed)
    expect(stderr).toMatch(/^1 refused/)
    expect(stderr).toContain(
      `\napps-service: cannot read ${file} beyond line 2: its gzip data is damaged: unexpected end of file; the lines before were imported\n`,
    )
  })

  test('at all, or from standard input: says why', async () => {
    const { file, importFile } = await withFile([])
    const bytes = Buffer.from('\uFEFF{"name"', 'utf16le')
    writeFileSync(file, bytes)
    const { code, stderr: ofFile } = await importFile()
    expect([code, ofFile]).toEqual([
      1,
      expect.stringMatching(`^apps-service: cannot read ${file}: .* UTF-16; .*\n$`),
    ])
    const { stderr } = await run(['import', '-'], { DATABASE_URL: await copyWorld() }, bytes)
    expect(stderr).toMatch(/^apps-service: cannot read standard input: .* UTF-16; /)
  })

  test.for(['import FILE', 'counters FILE', 'moderation decide FILE', 'import - --rejects FILE'])(
    'because there is none: %s',
    async (command) => {
      const env = { DATABASE_URL: await copyWorld() }
      const runWith = (file: string) => run(command.replace('FILE', file).split(' '), env, '{}')
      // The working directory of commands is that of process.ts.
      const directory = join(import.meta.dirname, '../support')
      const name = command.includes('rejects') ? 'none/x' : 'none.ndjson'
      for (const [file, message] of [
        [name, `cannot \\w+ .*${directory}/none.*`],
        ['https://example.org/x', '.*x: it is an address.*'],
      ] as const) {
        const { code, stderr } = await runWith(file)
        expect([code, stderr]).toEqual([1, expect.stringMatching(`^apps-service: ${message}\n$`)])
      }
    },
  )

  test('is not one in a directory with the name ~', async () => {
    const name = `~${process.pid}`
    const directory = join(import.meta.dirname, '../support', name)
    mkdirSync(directory)
    onTestFinished(() => rmSync(directory, { recursive: true }))
    writeFileSync(join(directory, 'apps.ndjson'), toLines([app]))
    const env = { DATABASE_URL: await copyWorld() }
    expect((await run(['import', `${name}/apps.ndjson`], env)).code).toBe(0)
    expect((await run(['export', `${name}/export.ndjson`], env)).code).toBe(0)
  })
})

describe('a dry run', () => {
  test('writes only rejects', async () => {
    const { importFile, rejects, run: command } = await withFile([app, {}])
    const { stdout } = await importFile('--dry-run')
    expect(stdout).toMatch(/1 created, 0 updated, 0 unchanged; nothing was written\.\n$/)
    expect(existsSync(rejects)).toBe(true)
    expect((await command('app', 'list', 'star map')).stdout).not.toContain('Star Map')
  })

  test('lists each existing app that would change', async () => {
    const created_at = '2026-01-01T00:00:00.000Z'
    const sky = { id: 50, slug: 'sky', name: 'Sky', created_at }
    const stars = { ...app, id: 80, slug: 'stars', package_name: 'org.example.stars', created_at }
    const moon = { ...app, id: 81, slug: 'moon', created_at, status: 'approved', reviews: [review] }
    const fog = { ...moon, id: 82, slug: 'fog' }
    const { rewrite, importFile } = await withFile([{ category: sky }, stars, moon, fog])
    await importFile()
    expect(JSON.parse((await importFile('--dry-run', '--json')).stdout).updates).toEqual([])
    rewrite([
      { category: { ...sky, name: 'Air' } },
      { ...moon, reviews: [{ ...review, rating: 5 }] },
      { ...stars, package_name: null },
      { ...app, name: 'New', slug: 'new' },
      { removed: { id: 82, created_at } },
      {},
    ])
    const dry = await importFile('--dry-run')
    expect(dry.stdout).toMatch(
      /^ID +SLUG\n81 +moon\n80 +stars\n82 +fog\n6 lines .* 1 created, 4 updated, 0 unchanged; nothing was written\.\n$/,
    )
    expect(dry.stderr).toMatch(/^1 refused: /)
    expect(JSON.parse((await importFile('--dry-run', '--json')).stdout)).toMatchObject({
      updated: 4,
      updates: [
        { app_id: 81, slug: 'moon' },
        { app_id: 80, slug: 'stars' },
        { app_id: 82, slug: 'fog' },
      ],
    })
    expect(JSON.parse((await importFile('--json')).stdout)).not.toHaveProperty('updates')
  })

  test('lists the first hundred apps', async () => {
    const apps = Array.from({ length: 101 }, (_, index) => ({ ...app, slug: `star-${index}` }))
    const { rewrite, importFile } = await withFile(apps)
    await importFile()
    const changed = apps.map((line) => ({ ...line, version: '2' }))
    rewrite(changed)
    const { updated, updates } = JSON.parse((await importFile('--dry-run', '--json')).stdout)
    expect([updated, updates.length]).toEqual([101, 100])
    const lines = (await importFile('--dry-run')).stdout.trimEnd().split('\n')
    expect(lines.filter((line) => line.includes(' star-'))).toHaveLength(100)
    expect(lines.at(-2)).toBe('At most 100 apps are listed.')
    rewrite(changed.slice(0, 99))
    expect((await importFile('--dry-run')).stdout).not.toContain('At most')
  })
})

describe('a mirror', () => {
  const lines = Array.from({ length: 4 }, (_, index) => ({
    ...app,
    category: { slug: 'tools', name: 'Tools' },
    ...{ slug: `star-${index}`, status: 'approved', deleted_at: null },
  }))

  async function withMirror(first: (object | string)[]) {
    const file = join(temporaryFolder(), 'all.ndjson')
    const { run: command } = commandLine(await emptyCatalogueUrl())
    writeFileSync(file, toLines(first))
    await command('import', file)
    return (given: (object | string)[], ...options: string[]) => {
      writeFileSync(file, toLines(given))
      return command('import', file, '--mirror', ...options)
    }
  }

  test('hides what the file lacks, which a dry run lists', async () => {
    const mirror = await withMirror(lines)
    const dry = await mirror(lines.slice(1), '--dry-run')
    expect([dry.code, dry.stderr]).toEqual([0, ''])
    expect(dry.stdout).toMatch(
      /^ID +SLUG\n1 +star-0\n3 lines .*: 0 created, 0 updated, 3 unchanged, 1 hidden; nothing was written\.\n$/,
    )
    const { code, stdout } = await mirror(lines.slice(1), '--json')
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { unchanged: 3, hidden: 1 }])
    expect((await mirror(lines)).stdout).toMatch(/1 updated, 3 unchanged, 0 hidden\.\n$/)
  })

  test('hides nothing if the file lacks too much, and says what to add', async () => {
    const mirror = await withMirror(lines)
    const few = lines.slice(3)
    const refused = await mirror(few)
    expect([refused.code, refused.stderr]).toEqual([
      1,
      'apps-service: nothing was hidden: the file lacks 3 of 4 listed apps; if they are to go, add --hide 3\n',
    ])
    expect(refused.stdout).toMatch(/ 0 created, 0 updated, 1 unchanged, 0 hidden\.\n$/)
    const hidden = await mirror(few, '--hide', '3')
    expect([hidden.code, hidden.stdout]).toEqual([0, expect.stringMatching(/ 3 hidden\.\n$/)])
  })

  test.for<[what: string, lines: (object | string)[], stderr: RegExp]>([
    [
      'is empty',
      [],
      /^\S+ is empty; nothing was changed\.\napps-service: nothing was hidden: the /,
    ],
    [
      'has a line that is no JSON',
      [...lines.slice(1), '{'],
      /^1 refused: [\s\S]*nothing was hidden: line 4 is /,
    ],
  ])('hides nothing if the file %s', async ([, given, stderr]) => {
    const mirror = await withMirror(lines)
    const result = await mirror(given)
    expect([result.code, result.stderr]).toEqual([1, expect.stringMatching(stderr)])
    expect((await mirror(lines, '--json')).stdout).toContain('"unchanged": 4')
  })

  test('is no catalogue with keys, and cannot be imported with --only-new', async () => {
    const { importFile } = await withFile([app])
    expectRefusal(await importFile('--mirror'), /^apps-service: keys were issued for this catal/)
    expect((await importFile('--mirror', '--only-new')).code).toBe(2)
  })

  test('is meant by --hide', async () => {
    const { importFile } = await withFile([app])
    const { code, stderr } = await importFile('--hide', '3')
    expect([code, stderr]).toEqual([2, 'apps-service: --hide is for imports with --mirror\n'])
  })
})

describe('the help', () => {
  test('has a line that can be imported', async () => {
    const env = { DATABASE_URL: await emptyCatalogueUrl() }
    const [line = ''] = /^\{".*$/m.exec((await run(['import', '--help'])).stdout) ?? []
    expect((await run(['import', '-'], env, line)).stdout).toContain('1 created')
    const exported = (await run(['export'], env)).stdout.trimEnd().split('\n')
    const { created_at, updated_at, category, ...fields } = JSON.parse(line)
    expect(JSON.parse(exported.at(-1) ?? '')).toMatchObject({
      ...fields,
      category: expect.objectContaining(category),
      created_at: new Date(created_at).toISOString(),
      updated_at: new Date(updated_at).toISOString(),
    })
  })

  test('--schema prints the JSON Schema of a line', async () => {
    const { code, stdout } = await run(['import', '--schema'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'object',
      else: { required: ['name', 'description', 'category', 'developer_name'] },
    })
  })
})

test('a call without a file is wrong usage', async () => {
  const { code, stderr } = await run(['import'])
  expect([code, stderr]).toEqual([2, expect.stringMatching(/missing required argument 'file'/)])
})
