import { spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import {
  exampleLine as app,
  manyApps,
  exampleReview as review,
  toLines,
} from '../support/catalogue-file.ts'
import {
  copyWorld,
  emptyCatalogueUrl,
  emptyDatabaseUrl,
  temporaryFolder,
} from '../support/database.ts'
import {
  commandLine,
  executable,
  hasTerminal,
  interrupt,
  run,
  runInTerminal,
  runProcess,
  serve,
} from '../support/process.ts'

/**
 * The commands import and export. They run once: what they do in the database is tested on each
 * engine, in import-export/ and running-import.test.ts.
 */

/** The lines beside a file of rejects. */
const readProblems = (rejects: string): { line: number }[] =>
  readFileSync(`${rejects}.problems`, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('import', () => {
  test('imports a file, and changes nothing the second time', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const file = join(temporaryFolder(), 'apps.ndjson')
    writeFileSync(file, toLines([app, { ...app, name: 'Moon Map' }]))
    const first = await run(['import', file], env)
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toMatch(
      /^2 lines in [\d.]+ s \(\d+\/s\): 2 created, 0 updated, 0 unchanged\.\n$/,
    )
    expect((await run(['import', file], env)).stdout).toMatch(/0 created, 0 updated, 2 unchanged/)
    expect(existsSync(`${file}.rejects.ndjson`)).toBe(false)
  })

  test('says how many lines updated an app that the file had created', async () => {
    const { runWith } = commandLine(await copyWorld())
    const first = { ...app, developer_name: 'Eve' }
    const lines = toLines([app, { ...app, version: '2' }, first, { ...app, version: '3' }])
    for (const option of [['--dry-run'], []])
      expect((await runWith(lines, 'import', '-', ...option)).stdout).toMatch(
        /: 2 created, 2 updated \(2 of them created by this file\), 0 unchanged/,
      )
    const { stdout } = await runWith(lines, 'import', '-', '--json')
    expect(JSON.parse(stdout)).toEqual({
      ...{ lines: 4, created: 0, updated: 2, unchanged: 2, rejected: 0 },
      seconds: expect.any(Number),
    })
    const others = toLines([
      { ...app, name: 'Moon Map' },
      { ...app, name: 'Moon Map', version: '2' },
    ])
    expect(JSON.parse((await runWith(others, 'import', '-', '--json')).stdout)).toMatchObject({
      ...{ created: 1, updated: 1, repeated: 1 },
    })
  })

  test('and other commands count one thing in the singular', async () => {
    const databaseUrl = await emptyCatalogueUrl()
    const { run: command, runWith } = commandLine(databaseUrl)
    await command('category', 'add', '--slug', 'tools', '--name', 'Tools')
    const listed = { ...app, package_name: 'org.example.star', status: 'approved' }
    const counters = { package_name: 'org.example.star', total_downloads: 1 }
    const target = await emptyDatabaseUrl()
    await commandLine(target).run('migrate')
    const refused = Array.from({ length: 11 }, (_, index) => ({ ...app, [`x${index}`]: 1 }))
    const runs: [outcome: Awaited<ReturnType<typeof command>>, message: RegExp][] = [
      [await runWith(toLines([{ ...listed, reviews: [review] }]), 'import', '-'), /^1 line in /],
      [await runWith(toLines([counters]), 'counters', '-'), /^1 line: 1 updated/],
      [await command('developer', 'rename', 'Ada', '--to', 'Hopper'), / with 1 listed app\.$/m],
      [await command('copy', '--to', target), /: 1 app, 1 review and 4 audit entries, in/],
      [
        await runWith(toLines(refused), 'import', '-', '--rejects', '/dev/null'),
        /^ {2}and 1 more reason$/m,
      ],
    ]
    for (const [{ stdout, stderr }, message] of runs) expect(stdout + stderr).toMatch(message)
  })

  test.skipIf(!hasTerminal)(
    'shows a progress bar on a terminal, and restores the terminal',
    async () => {
      const shown = await runInTerminal(100, ['import', manyApps(300)], {
        DATABASE_URL: await copyWorld(),
      })
      const [bar = '', sentence, ...rest] = shown.split('\n')
      const states = [...bar.matchAll(/ (\d+)% \| (\d+) lines, (\d+)\/s \| (\d+)s left/g)].map(
        ([, ...numbers]) => numbers,
      )
      expect(states.at(0)).toEqual(['0', '0', '0', '0'])
      expect(states.at(-1)).toEqual(['100', '300', expect.stringMatching(/^[1-9]/), '0'])
      // The last mode that is set makes the terminal wrap lines again.
      expect(bar.split('\u001b[?').at(-1)).toMatch(/^7h/)
      expect(sentence).toMatch(/^300 lines in [\d.]+ s/)
      expect(rest).toEqual([''])
    },
  )

  test('reports refused lines with all their problems, and imports the others', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const file = join(temporaryFolder(), 'apps.ndjson.gz')
    writeFileSync(
      file,
      gzipSync(
        `${toLines([app])}\n{"name": ""}\nnot json\n${toLines([{ ...app, name: 'Moon Map' }])}`,
      ),
    )
    const reply = await run(['import', file, '--json'], env)
    expect(reply.code).toBe(1)
    expect(reply.stderr.split('\n')).toEqual([
      `2 refused: see ${file}.rejects.ndjson.problems; correct the lines in ${file}.rejects.ndjson and import that file`,
      '  1 × /description: is required',
      '  1 × /category: is required',
      '  1 × /developer_name: is required',
      '  1 × /name: must not be empty',
      '  1 × line: is not valid JSON at line 4, column 1',
      '',
    ])
    expect(JSON.parse(reply.stdout)).toEqual({
      lines: 4,
      created: 2,
      updated: 0,
      unchanged: 0,
      rejected: 2,
      seconds: expect.any(Number),
      rejects: `${file}.rejects.ndjson`,
      problems: `${file}.rejects.ndjson.problems`,
      reasons: expect.arrayContaining([{ reason: '/name: must not be empty', count: 1 }]),
    })
    expect(readFileSync(`${file}.rejects.ndjson`, 'utf8')).toBe('{"name": ""}\nnot json\n')
    expect(readProblems(`${file}.rejects.ndjson`)).toEqual([
      {
        line: 3,
        problems: [
          { field: '/description', message: 'is required' },
          { field: '/category', message: 'is required' },
          { field: '/developer_name', message: 'is required' },
          { field: '/name', message: 'must not be empty' },
        ],
      },
      {
        line: 4,
        problems: [{ field: '', message: 'is not valid JSON at line 4, column 1' }],
      },
    ])
    // A run without refused lines removes the rejects of an earlier one.
    writeFileSync(file, gzipSync(toLines([app])))
    expect((await run(['import', file], env)).code).toBe(0)
    expect(existsSync(`${file}.rejects.ndjson`)).toBe(false)
    expect(existsSync(`${file}.rejects.ndjson.problems`)).toBe(false)
  })

  test('keeps refused lines byte for byte, and names what they are about', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const rejects = join(temporaryFolder(), 'rejects')
    const nested = (levels: number) => `{"extra":${'['.repeat(levels)}${']'.repeat(levels)}}`
    const tooLong = 'x'.repeat(17 * 1024 * 1024)
    const refused: [line: string | Buffer, about: object][] = [
      [' { "name" : "" , "id":7,\t"slug":"moon" } \r', { id: 7, slug: 'moon' }],
      ['{"name":"x","category":{"id":1,"slug":"tools","name":"Tools"}}', {}],
      ['{"category":{"id":60,"slug":"Sky","name":"S"}}', { id: 60, slug: 'Sky' }],
      ['{"removed":{"id":1,"created_at":"2026-01-01T00:00:00Z"}}', { id: 1 }],
      ['{"id":"7","slug":[[]]}', {}],
      ['{"slug":"a","slug":"b"}', { slug: 'b' }],
      [nested(101), {}],
      [nested(30_000), {}],
      ['null', {}],
      ['{"slug":"moon"', {}],
      [
        Buffer.from([...Buffer.from('{"slug":"'), 0xff, ...Buffer.from('","id":8}')]),
        { id: 8, slug: '\uFFFD' },
      ],
      ['\u0000', {}],
    ]
    const given = (lines: (string | Buffer)[]) =>
      Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from('\n')]))
    const lines = refused.map(([line]) => line)
    const file = Buffer.concat([given([...lines, `{${tooLong}`]), Buffer.from(JSON.stringify(app))])
    const reply = await run(['import', '-', '--rejects', rejects], env, file)
    expect(reply.stdout).toMatch(/^14 lines .*: 1 created/)
    const written = readFileSync(rejects)
    const whole = given(lines)
    expect(written.subarray(0, whole.length).equals(whole)).toBe(true)
    // Of a line that is too long, its beginning.
    expect(written.subarray(whole.length).toString()).toMatch(/^\{x{1000,}\n$/)
    expect(readProblems(rejects)).toEqual(
      [...refused, ['', {}] as const].map(([, about], index) => ({
        line: index + 1,
        ...about,
        problems: expect.arrayContaining([
          expect.objectContaining({ message: expect.any(String) }),
        ]),
      })),
    )
  })

  test('imports corrected rejects, counts them by reason, and keeps the order of the file', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const file = join(temporaryFolder(), 'apps.ndjson')
    const lines = Array.from({ length: 1600 }, (_, index) => ({
      ...app,
      name: `Star ${index}`,
      ...(index % 2 === 0 && { package_name: 'no package' }),
      ...(index % 3 === 0 && { category: 'unknown' }),
      created_at: index === 4 ? 'yesterday' : '2026-01-01T00:00:00Z',
    }))
    writeFileSync(file, toLines(lines))
    const reply = await run(['import', file], env)
    expect(reply.stderr.split('\n').slice(0, 3)).toEqual([
      `1,067 refused: see ${file}.rejects.ndjson.problems; correct the lines in ${file}.rejects.ndjson and import that file`,
      '  800 × /package_name: must have at least three parts separated by dots, each a letter followed by letters, digits, "_" or "-"',
      '  267 × /category: does not exist: give slug and name to add it, not unknown alone',
    ])
    expect(reply.stderr).toMatch(
      /\n {2}1 × \/created_at: must be a time such as .*; got "yesterday"\n/,
    )
    const rejects = readFileSync(`${file}.rejects.ndjson`, 'utf8')
    const problems = readProblems(`${file}.rejects.ndjson`)
    expect(problems.map(({ line }) => toLines([lines[line - 1] ?? {}])).join('')).toBe(rejects)
    const numbers = problems.map(({ line }) => line)
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))

    const mended = join(temporaryFolder(), 'mended.ndjson')
    writeFileSync(
      mended,
      rejects
        .replaceAll('no package', 'org.example.mended')
        .replaceAll('yesterday', '2026-01-01T00:00:00Z')
        .replaceAll('"category":"unknown"', '"category":"tools"')
        .replaceAll('"package_name":"org.example.mended",', ''),
    )
    expect((await run(['import', mended], env)).stdout).toMatch(/^1067 lines .* 1067 created/)
  })

  test('prints the ten most frequent reasons, and the number of the others', async () => {
    const lines = Array.from({ length: 12 }, (_, field) =>
      Array.from({ length: 12 - field }, () => ({ ...app, [`field${field}`]: 1 })),
    )
    const reply = await run(
      ['import', '-', '--rejects', '/dev/null'],
      { DATABASE_URL: await copyWorld() },
      toLines(lines.flat()),
    )
    const [total, ...reasons] = reply.stderr.trimEnd().split('\n')
    expect(total).toBe('78 refused')
    expect(existsSync('/dev/null.problems')).toBe(false)
    expect(reasons).toEqual([
      ...lines
        .slice(0, 10)
        .map(({ length }, field) => `  ${length} × /field${field}: is not a field that can be set`),
      '  and 2 more reasons',
    ])
  })

  test.for(['import', 'counters'])(
    '%s: an empty input is no failure, and is said to be empty',
    async (command) => {
      const env = { DATABASE_URL: await copyWorld() }
      const file = join(temporaryFolder(), 'empty.ndjson')
      writeFileSync(file, gzipSync(''))
      const rejects = command === 'import' ? ['--rejects', '/dev/null'] : []
      const counts = command === 'import' ? /^0 lines in .*: 0 created, / : /^0 lines: 0 updated/
      for (const input of ['', '\n\n']) {
        const { code, stdout, stderr } = await run([command, '-', ...rejects], env, input)
        expect([code, stderr]).toEqual([0, 'Standard input is empty; nothing was changed.\n'])
        expect(stdout).toMatch(counts)
      }
      const json = await run([command, file, ...rejects, '--json'], env)
      expect([json.code, json.stderr, JSON.parse(json.stdout).lines]).toEqual([
        0,
        `${file} is empty; nothing was changed.\n`,
        0,
      ])
      const other = await run([command, '-', ...rejects], env, 'x\n')
      expect([other.code, other.stderr]).toEqual([1, expect.not.stringContaining(' is empty')])
    },
  )

  test('imports the line in its help, which has the required fields and others', async () => {
    const env = { DATABASE_URL: await emptyCatalogueUrl() }
    const [line = ''] = /^\{".*$/m.exec((await run(['import', '--help'])).stdout) ?? []
    expect(await run(['import', '-'], env, line)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('1 created'),
    })
    const exported = (await run(['export'], env)).stdout.trimEnd().split('\n')
    const { created_at, updated_at, category, ...fields } = JSON.parse(line)
    expect(JSON.parse(exported.at(-1) ?? '')).toMatchObject({
      ...fields,
      category: expect.objectContaining(category),
      created_at: new Date(created_at).toISOString(),
      updated_at: new Date(updated_at).toISOString(),
    })
  })

  test('prints one reason with the first value for lines whose values are refused', async () => {
    const lines = ['ftp://example.org/', 'ftp://example.com/'].map((website_url) => ({
      ...app,
      website_url,
    }))
    const env = { DATABASE_URL: await copyWorld() }
    const reply = await run(['import', '-', '--rejects', '/dev/null'], env, toLines(lines))
    expect(reply.stderr.split('\n')[1]).toBe(
      '  2 × /website_url: must begin with "https://" or "http://"; leave it out if there is no such address; got "ftp://example.org/", for example',
    )
  })

  test('prints one reason with an example for lines that belong to apps of different developers', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const owners = ['Ada', 'Bob', 'Cy', 'Di']
    const owned = owners.map((developer_name, index) => ({
      ...app,
      developer_name,
      slug: `star-${index}`,
    }))
    await run(
      ['import', '-'],
      env,
      toLines([...owned, { ...app, slug: 'moon', package_name: 'org.example.moon' }]),
    )
    const lines = [
      ...owned.map((line) => ({ ...line, developer_name: 'Eve' })),
      { ...app, slug: 'moon', package_name: 'org.example.mars' },
    ]
    const reply = await run(
      ['import', '-', '--json', '--rejects', '/dev/null'],
      env,
      toLines(lines),
    )
    expect(reply.stderr.trimEnd().split('\n').slice(1)).toEqual([
      '  4 × /slug: belongs to an app of another developer; for example /slug: belongs to an app of Ada: leave it out to get another',
      '  1 × /slug: belongs to an app with the package name org.example.moon',
    ])
    expect(JSON.parse(reply.stdout).reasons[0]).toEqual({
      reason: '/slug: belongs to an app of another developer',
      count: 4,
      example: '/slug: belongs to an app of Ada: leave it out to get another',
    })
  })

  test('reports where a broken file ends, and what was imported', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const file = join(temporaryFolder(), 'broken.ndjson.gz')
    const whole = gzipSync(readFileSync(manyApps(3000)))
    writeFileSync(file, whole.subarray(0, whole.length - 20_000))
    const reply = await run(['import', file], env)
    expect(reply.code).toBe(1)
    const taken = Number(/^(\d+) lines .* \1 created/.exec(reply.stdout)?.[1])
    expect(taken).toBeGreaterThan(100)
    expect(reply.stderr).toBe(
      `apps-service: cannot read ${file} beyond line ${taken}: its gzip data is damaged: unexpected end of file; the lines before were imported\n`,
    )
    expect((await run(['export', `${file}.out`], env)).stderr).toContain(
      `${(6 + taken).toLocaleString('en')} apps and 3 categories exported`,
    )
  })

  test.for<[format: string, bytes: Buffer]>([
    [
      'the file is in UTF-16; it must be UTF-8, compressed with gzip or not',
      Buffer.from('\uFEFF{"name"', 'utf16le'),
    ],
    ['its gzip data is damaged: unexpected end of file', gzipSync('{}').subarray(0, 12)],
    [
      "the file is a JSON array; it must have one JSON object per line (NDJSON). Convert it with: jq -c '.[]'",
      Buffer.from(JSON.stringify([app, app], null, 2)),
    ],
  ])('says that %s', async ([problem, bytes]) => {
    const env = { DATABASE_URL: await copyWorld() }
    const file = join(temporaryFolder(), 'apps')
    writeFileSync(file, bytes)
    for (const [name, argument, input] of [
      [file, file, ''],
      ['standard input', '-', bytes],
    ] as const) {
      const reply = await run(['import', argument], env, input)
      expect([reply.code, reply.stderr]).toEqual([
        1,
        `apps-service: cannot read ${name}: ${problem}\n`,
      ])
    }
  })

  test('of counters reports refused lines, and where a broken file ends', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const file = join(temporaryFolder(), 'counters.gz')
    const lines = toLines([
      { slug: 'tide-clock', total_downloads: 7 },
      { slug: 'nobody', total_downloads: 7 },
      '{',
    ])
    writeFileSync(file, gzipSync(lines).subarray(0, -1))
    expect(await run(['counters', file], env)).toEqual({
      code: 1,
      stdout: '3 lines: 1 updated, 0 unchanged.\n',
      stderr: `2 refused
  1 × /slug: belongs to no app
  1 × line: is not valid JSON: it ends too early, at line 3, column 2
apps-service: cannot read ${file} beyond line 3: its gzip data is damaged: unexpected end of file; the lines before were imported
`,
    })
  })

  test('reads standard input, and writes nothing in a dry run', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const rejects = join(temporaryFolder(), 'rejects')
    const reply = await run(
      ['import', '-', '--dry-run', '--rejects', rejects],
      env,
      toLines([app, {}]),
    )
    expect(reply.stdout).toMatch(/1 created, 0 updated, 0 unchanged; nothing was written\.\n$/)
    expect(existsSync(rejects)).toBe(true)
    expect(
      (await run(['import', '-', '--dry-run', '--rejects', rejects], env, toLines([app]))).stdout,
    ).toMatch(/1 created/)
  })

  test('a dry run lists what it would update, with the fields', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const created_at = '2026-01-01T00:00:00.000Z'
    const sky = { id: 50, slug: 'sky', name: 'Sky', created_at }
    const stars = {
      ...app,
      id: 80,
      slug: 'stars',
      package_name: 'org.example.stars',
      created_at,
      status: 'approved',
    }
    const moon = { ...app, id: 81, slug: 'moon', created_at, status: 'approved', reviews: [review] }
    const others = Array.from({ length: 100 }, (_, index) => ({ ...app, slug: `star-${index}` }))
    await run(['import', '-'], env, toLines([{ category: sky }, stars, moon, ...others]))
    const input = toLines([
      { category: { ...sky, name: 'Air' } },
      moon,
      {
        ...stars,
        description: 'All stars.',
        developer_name: 'Grace',
        category: 'games',
        package_name: null,
      },
      { ...app, name: 'New' },
      { ...moon, reviews: [{ ...review, rating: 5 }] },
      { removed: { id: 81, created_at } },
      { ...app, slug: 'star-0', version: '2' },
    ])
    const stars80 = { app_id: 80, slug: 'stars' }
    const moon81 = { app_id: 81, slug: 'moon' }
    const dryRun = ['import', '-', '--dry-run', '--rejects', '/dev/null']
    expect(JSON.parse((await run([...dryRun, '--json'], env, input)).stdout)).toMatchObject({
      updated: 5,
      updates: [
        {
          line: 1,
          category_id: 50,
          slug: 'sky',
          changes: [{ field: 'name', before: 'Sky', after: 'Air' }],
        },
        {
          line: 3,
          ...stars80,
          changes: [
            { field: 'description', before: 'The sky above you.', after: 'All stars.' },
            { field: 'package_name', before: 'org.example.stars', after: null },
            { field: 'category', before: 'tools', after: 'games' },
            { field: 'developer_name', before: 'Ada', after: 'Grace' },
          ],
        },
        {
          line: 5,
          ...moon81,
          changes: [
            { field: 'average_rating', before: 4, after: 5 },
            { field: 'reviews', before: 1, after: 1 },
          ],
        },
        {
          line: 6,
          ...moon81,
          changes: [{ field: 'deleted_at', before: null, after: expect.any(String) }],
        },
        { line: 7, slug: 'star-0', changes: [{ field: 'version', before: '1.0.0', after: '2' }] },
      ],
    })

    const many = others.map((line) => ({ ...line, version: '2' }))
    const { stdout } = await run(dryRun, env, input + toLines(many))
    const lines = stdout.trimEnd().split('\n')
    expect(lines.slice(0, 8)).toEqual([
      'LINE  UPDATES',
      '1     category 50 sky',
      '    name: Sky → Air',
      '3     app 80 stars',
      '    description: The sky above you. → All stars.',
      '    package_name: org.example.stars → (none)',
      '    category: tools → games',
      '    developer_name: Ada → Grace',
    ])
    expect(lines.at(-2)).toBe('and 4 more; --json lists up to 1,000')
    const exactly = await run(dryRun, env, toLines(many.slice(0, 100)))
    expect(exactly.stdout).not.toContain(' more; --json')
    expect(lines.at(-1)).toMatch(
      /^107 lines in .* 1 created, 104 updated, 2 unchanged; nothing was written\.$/,
    )
    expect(
      (await run(['import', '-', '--json', '--rejects', '/dev/null'], env, input)).stdout,
    ).not.toContain('updates')
  })

  test('a dry run lists the first thousand updates in JSON', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const apps = Array.from({ length: 1001 }, (_, index) => ({ ...app, slug: `star-${index}` }))
    await run(['import', '-'], env, toLines(apps))
    const changed = apps.map((one) => ({ ...one, version: '2' }))
    const { stdout } = await run(['import', '-', '--dry-run', '--json'], env, toLines(changed))
    const { updated, updates } = JSON.parse(stdout)
    expect(updated).toBe(1001)
    expect(updates).toHaveLength(1000)
  })

  test('a dry run predicts the import of a large file while a server writes', async () => {
    const address = await copyWorld()
    const env = { DATABASE_URL: address }
    const [first, ...others] = Array.from({ length: 2000 }, (_, index) => ({
      ...app,
      name: `Star ${index}`,
      package_name: `org.example.star${index % 1900}`,
      category: 'sky',
    }))
    const file = join(temporaryFolder(), 'sky.ndjson')
    writeFileSync(file, toLines([{ ...first, category: { slug: 'sky', name: 'Sky' } }, ...others]))
    const counts = { lines: 2000, created: 1900, updated: 100, unchanged: 0, rejected: 0 }

    const server = await serve(address)
    const dryRun = runProcess(['import', file, '--dry-run', '--json'], env)
    let isOver = false
    dryRun.then(() => {
      isOver = true
    })
    for (let index = 0; !isOver; index++) {
      const json = { name: `Beside ${index}`, description: 'Written meanwhile.', category_id: 1 }
      expect(
        (await server.request('POST', '/apps', { key: inject('world').keys.ada, json })).status,
      ).toBe(201)
      await delay(20)
    }
    expect(JSON.parse((await dryRun).stdout)).toMatchObject(counts)
    expect(
      (await server.request('GET', '/apps?category=sky')).body.data.pagination.total_pages,
    ).toBe(0)
    expect(JSON.parse((await run(['import', file, '--json'], env)).stdout)).toMatchObject(counts)
  })

  test('never removes or overwrites a file that is not a rejects file', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const folder = temporaryFolder()
    const path = (name: string) => join(folder, name)
    writeFileSync(path('apps.ndjson'), toLines([app, {}]))
    writeFileSync(path('database.sqlite'), 'precious')
    writeFileSync(path('apps.ndjson.rejects.ndjson'), toLines([app]))
    symlinkSync(path('apps.ndjson'), path('link'))
    linkSync(path('apps.ndjson'), path('hard-link'))
    writeFileSync(path('list'), '')
    writeFileSync(path('list.problems'), 'many')
    mkdirSync(path('folder.problems'))
    symlinkSync(path('apps.ndjson'), path('source.problems'))
    const isNoRejectsFile = (name: string) =>
      `it already exists and is not a rejects file: ${path(name)}.problems is missing or empty`
    const complaints = {
      'apps.ndjson': 'it is the file to import',
      link: 'it is the file to import',
      'hard-link': 'it is the file to import',
      'database.sqlite': isNoRejectsFile('database.sqlite'),
      '.': 'it is a directory',
      'none/rejects': `${path('none')} is not a directory that this account can enter`,
      'apps.ndjson/x': `${path('apps.ndjson')} is not a directory that this account can enter`,
    }
    const complaintOf = (rejects: string, reason: string) =>
      `apps-service: cannot write rejects to ${path(rejects)}: ${reason}; use --rejects FILE\n`
    for (const [rejects, reason] of Object.entries(complaints)) {
      const reply = await run(['import', path('apps.ndjson'), '--rejects', path(rejects)], env)
      expect([reply.code, reply.stdout, reply.stderr]).toEqual([
        1,
        '',
        complaintOf(rejects, reason),
      ])
    }
    for (const [rejects, reason] of Object.entries({
      list: 'it already exists and has no problems of rejects',
      folder: 'it is a directory',
      source: 'it is the file to import',
    })) {
      const { stderr } = await run(['import', path('apps.ndjson'), '--rejects', path(rejects)], env)
      expect(stderr).toBe(complaintOf(`${rejects}.problems`, reason))
    }
    expect(readFileSync(path('list.problems'), 'utf8')).toBe('many')
    const input = openSync(path('apps.ndjson'), 'r')
    const { stderr } = spawnSync(executable, ['import', '-', '--rejects', path('apps.ndjson')], {
      env: { PATH: process.env.PATH, ...env },
      stdio: [input, 'pipe', 'pipe'],
      encoding: 'utf8',
    })
    closeSync(input)
    expect(stderr).toBe(complaintOf('apps.ndjson', 'it is the file to import'))
    expect((await run(['import', path('apps.ndjson')], env)).stderr).toContain(
      isNoRejectsFile('apps.ndjson.rejects.ndjson'),
    )
    expect(readFileSync(path('apps.ndjson'), 'utf8')).toBe(toLines([app, {}]))
    expect(readFileSync(path('database.sqlite'), 'utf8')).toBe('precious')
    expect(readFileSync(path('apps.ndjson.rejects.ndjson'), 'utf8')).toBe(toLines([app]))
    expect((await run(['app', 'list', 'star map'], env)).stdout).not.toContain('Star Map')
  })

  test('replaces the rejects of an earlier run, keeps them if it cannot start, and removes them if no line is refused', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const file = join(temporaryFolder(), 'apps.ndjson')
    const rejects = `${file}.rejects.ndjson`
    const importing = (
      line: object,
      environment: Record<string, string> = env,
      ...options: string[]
    ) => {
      writeFileSync(file, toLines([line]))
      return run(['import', file, ...options], environment)
    }
    await importing({ ...app, rating: 5 })
    await importing({ ...app, stars: 5 })
    const both = () => [rejects, `${rejects}.problems`].map((path) => readFileSync(path, 'utf8'))
    const second = both()
    expect(second).toEqual([
      expect.stringContaining('"stars":5'),
      expect.stringContaining('/stars'),
    ])
    expect(second.join()).not.toContain('rating')
    expect((await importing(app, { DATABASE_URL: await emptyDatabaseUrl() })).code).toBe(1)
    expect((await importing(app, env, '--dry-run')).code).toBe(0)
    // A file given with --rejects may belong to another import.
    expect((await importing(app, env, '--rejects', rejects)).code).toBe(0)
    expect(both()).toEqual(second)
    expect((await importing(app)).code).toBe(0)
    expect([rejects, `${rejects}.problems`].filter(existsSync)).toEqual([])
  })

  test('writes the rejects of standard input beside it, and never removes them', async () => {
    const folder = temporaryFolder()
    const env = { PATH: process.env.PATH, DATABASE_URL: await copyWorld() }
    const importing = (line: object) =>
      spawnSync(executable, ['import', '-'], { cwd: folder, env, input: toLines([line]) })
    expect(importing({ ...app, rating: 5 }).status).toBe(1)
    expect(readdirSync(folder)).toEqual(['stdin.rejects.ndjson', 'stdin.rejects.ndjson.problems'])
    // They may be of another source.
    expect(importing(app).status).toBe(0)
    expect(readdirSync(folder)).toEqual(['stdin.rejects.ndjson', 'stdin.rejects.ndjson.problems'])
  })

  test('imports corrected rejects, of which some are refused again', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const file = join(temporaryFolder(), 'apps.ndjson')
    const importCorrected = async (path: string, text: string) => {
      writeFileSync(path, text)
      return run(['import', path], env)
    }
    const moon = { ...app, name: 'Moon Map', slug: 'moon', version: '' }
    await importCorrected(file, toLines([{ ...app, name: '' }, moon]))
    const rejects = `${file}.rejects.ndjson`
    const corrected = readFileSync(rejects, 'utf8').replace('"name":""', '"name":"Star Map"')
    expect((await importCorrected(rejects, corrected)).stdout).toMatch(/1 created/)
    const again = `${rejects}.rejects.ndjson`
    expect(readFileSync(again, 'utf8')).toBe(toLines([moon]))
    expect(readProblems(again)).toEqual([
      { line: 2, slug: 'moon', problems: [{ field: '/version', message: 'must not be empty' }] },
    ])
    const third = await importCorrected(again, toLines([{ ...moon, version: '2' }]))
    expect([third.code, third.stdout]).toEqual([0, expect.stringContaining('1 created')])
    // The first file replaces its own rejects, although they were corrected.
    expect((await importCorrected(file, toLines([{ ...app, version: '' }]))).code).toBe(1)
    expect(readFileSync(rejects, 'utf8')).toBe(toLines([{ ...app, version: '' }]))
  })

  test('reports in one line that the rejects cannot be written', async () => {
    const env = { DATABASE_URL: await copyWorld() }
    const reply = await run(['import', '-', '--rejects', '/nowhere/rejects'], env, '{}\n')
    expect(reply.code).toBe(1)
    expect(reply.stderr).toMatch(/^apps-service: .*\/nowhere\/rejects.*\n$/)
  })

  test('prints the JSON Schema of a line', async () => {
    const { code, stdout } = await run(['import', '--schema'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'object',
      else: { required: ['name', 'description', 'category', 'developer_name'] },
      properties: {
        package_name: {
          description: expect.stringContaining('Its developer_name and exact name'),
        },
      },
    })
  })

  test.for([
    ['none.ndjson', 'no such file or directory'],
    ['../support', 'illegal operation on a directory'],
  ] as const)(
    'names the absolute path of a file that cannot be read: %s',
    async ([file, reason]) => {
      const env = { DATABASE_URL: await copyWorld() }
      for (const command of ['import', 'counters', 'moderation decide']) {
        const { code, stderr } = await run([...command.split(' '), file], env)
        const path = join(import.meta.dirname, '../support', file)
        expect([code, stderr], command).toEqual([
          1,
          `apps-service: cannot read ${path}: ${reason}\n`,
        ])
      }
    },
  )

  test.for<[command: string, path: string]>([
    ['read', 'import FILE'],
    ['read', 'counters FILE'],
    ['read', 'moderation decide FILE'],
    ['write', 'export FILE'],
    ['write rejects to', 'import - --rejects FILE'],
  ])('cannot %s an address, or a ~ that no shell has replaced: %s', async ([verb, command]) => {
    const env = { DATABASE_URL: await copyWorld() }
    const isAddress = 'it is an address; give the path of a file on this machine'
    const isTilde =
      'no such file or directory; a shell replaces ~ only at the beginning of a word and outside quotes'
    for (const [file, reason] of Object.entries({
      'https://example.org/apps.ndjson': isAddress,
      'file:///nowhere/apps.ndjson': isAddress,
      '~/apps.ndjson': isTilde,
      '~ada/apps.ndjson': isTilde,
    })) {
      const { code, stderr } = await run(command.replace('FILE', file).split(' '), env, '{}')
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`apps-service: cannot ${verb} ${file}: ${reason}\n`),
      ])
    }
  })

  test('takes a directory with the name ~ as it is', async () => {
    // The working directory of the commands is that of the helpers.
    const name = `~${process.pid}`
    const directory = join(import.meta.dirname, '../support', name)
    mkdirSync(directory)
    onTestFinished(() => rmSync(directory, { recursive: true }))
    writeFileSync(join(directory, 'apps.ndjson'), toLines([app]))
    const env = { DATABASE_URL: await copyWorld() }
    for (const args of [
      ['import', `${name}/apps.ndjson`],
      ['export', `${name}/export.ndjson`],
    ])
      expect(await run(args, env)).toMatchObject({ code: 0 })
  })

  test.for<[what: string, args: string[], code: number, line: RegExp]>([
    [
      'a missing file',
      ['import', '/nowhere/apps.ndjson'],
      1,
      /^apps-service: cannot read \/nowhere\/apps\.ndjson: no such file or directory$/m,
    ],
    ['a call without a file', ['import'], 2, /missing required argument 'file'/],
    [
      'an export to an existing file',
      ['export', import.meta.filename],
      1,
      /already exists; not overwritten/,
    ],
    [
      'an export to a name that ends in a slash',
      ['export', '/tmp/'],
      1,
      /: \/tmp\/ is not a file name: it ends with \/$/m,
    ],
    [
      'an export to a missing directory',
      ['export', '/nowhere/x.ndjson'],
      1,
      /cannot write \/nowhere\/x\.ndjson: no such file or directory$/m,
    ],
  ])('refuses %s in one line', async ([, args, code, line]) => {
    const reply = await run(args, { DATABASE_URL: await copyWorld() })
    expect(reply.stderr).toMatch(line)
    expect(reply.stderr.trimEnd().split('\n')).toHaveLength(1)
    expect([reply.code, reply.stdout]).toEqual([code, ''])
  })
})

test('import reads an export, compressed or not', async () => {
  const env = { DATABASE_URL: await copyWorld() }
  const file = join(temporaryFolder(), 'out.ndjson.gz')
  const plain = await run(['export'], env)
  expect(plain.code).toBe(0)
  expect(plain.stderr).toMatch(
    /^6 apps and 3 categories exported\. Export later changes with --since \d{4}-\d\d-\d\dT[\d:.]+Z\n$/,
  )
  expect((await run(['export', file], env)).code).toBe(0)
  expect(gunzipSync(readFileSync(file)).toString()).toBe(plain.stdout)
  expect((await run(['import', file], env)).stdout).toMatch(/0 created, 0 updated, 9 unchanged/)
})

test('an interrupted export leaves no file', async () => {
  const env = { DATABASE_URL: await copyWorld() }
  await run(['import', manyApps(2000)], env)
  const folder = temporaryFolder()
  const file = join(folder, 'out.ndjson')
  const stopped = await interrupt(
    'export',
    file,
    env,
    'SIGINT',
    () => readdirSync(folder).length > 0,
  )
  expect(stopped.exit).toEqual([null, 'SIGINT'])
  expect(stopped.stderr).toBe('apps-service: stopped by SIGINT; no export was written\n')
  expect(readdirSync(folder)).toEqual([])
})

test('an export gets its name when its content is flushed to disk, and then its directory is flushed', async () => {
  const file = join(temporaryFolder(), 'out.ndjson')
  const handle = await open(import.meta.filename)
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
  onTestFinished(() => sync.mockRestore())
  await handle.close()
  const hasName: boolean[] = []
  sync.mockImplementation(async () => void hasName.push(existsSync(file)))
  expect((await run(['export', file], { DATABASE_URL: await copyWorld() })).code).toBe(0)
  expect(hasName).toEqual([false, true])
})

test('an export with the printed --since has all later changes', async () => {
  const address = await copyWorld()
  const env = { DATABASE_URL: address }
  const mirror = { DATABASE_URL: await emptyCatalogueUrl() }
  // Older than the minute that --since goes back for clock skew.
  const database = openDatabase(env.DATABASE_URL)
  const past = '2026-01-01T00:00:00.000Z'
  for (const table of ['apps', 'developers', 'categories'] as const)
    await database.write(({ sql }) => sql(table).update({ changed_at: past }))
  await database.close()
  const whole = await run(['export'], env)
  expect((await run(['import', '-'], mirror, whole.stdout)).stdout).toMatch(/9 created/)
  const next = /--since (\S+)$/m.exec(whole.stderr)?.[1] ?? ''
  expect((await run(['export', '--since', next], env)).stdout).toBe('')

  await run(['app', 'restore', '4'], env)
  await run(['category', 'rename', 'games', '--name', 'Play', '--slug', 'play'], env)
  await run(['category', 'add', '--slug', 'new', '--name', 'New'], env)
  const changed = await run(['export', '--since', next], env)
  expect(changed.stderr).toMatch(/^2 apps and 2 categories exported\./)
  expect((await run(['import', '-'], mirror, changed.stdout)).stdout).toMatch(
    /1 created, 2 updated, 1 unchanged/,
  )
  await run(['developer', 'rename', 'Ada', '--to', 'Ada & Sons'], env)
  const renamed = await run(['export', '--since', next], env)
  expect(renamed.stderr).toMatch(/^5 apps and 2 categories exported\./)
  await run(['import', '-'], mirror, renamed.stdout)
  expect((await run(['export'], mirror)).stdout).toBe((await run(['export'], env)).stdout)
})

test.for<[what: string, rejected: number[], message: string]>([
  ['none', [], '0 apps and 0 categories exported.'],
  ['one', [1], '1 removal, 0 apps and 0 categories exported.'],
  ['two', [1, 5], '2 removals, 0 apps and 0 categories exported.'],
  ['one of an app that was never listed', [2], '0 apps and 0 categories exported.'],
])(
  'a public export with --since says how many removals it has: %s',
  async ([, rejected, message]) => {
    const address = await copyWorld()
    const env = { DATABASE_URL: address }
    const database = openDatabase(address)
    const past = '2026-01-01T00:00:00.000Z'
    for (const table of ['apps', 'developers', 'categories'] as const)
      await database.write(({ sql }) => sql(table).update({ changed_at: past }))
    await database.close()
    for (const id of rejected)
      await run(['moderation', 'reject', String(id), '--reason', 'No.'], env)
    const { stderr } = await run(['export', '--public', '--since', '2026-01-02'], env)
    expect(stderr).toMatch(new RegExp(`^${message} Export later`))
  },
)

test('a public export has listed apps, and with --since those that are no longer listed', async () => {
  const env = { DATABASE_URL: await copyWorld() }
  const mirror = { DATABASE_URL: await emptyCatalogueUrl() }
  const whole = await run(['export', '--public'], env)
  expect(whole.stderr).toMatch(/^2 apps and 3 categories exported\./)
  expect((await run(['import', '-'], mirror, whole.stdout)).stdout).toMatch(/5 created/)
  await run(['moderation', 'reject', '1', '--reason', 'A secret.'], env)
  const database = openDatabase(env.DATABASE_URL)
  // App 5 takes the package name of app 1, so the removal has to come first.
  const taken = { package_name: 'org.example.tideclock', package_key: 'org.example.tideclock' }
  await database.write(async ({ sql }) => {
    const now = new Date().toISOString()
    await sql('apps')
      .where({ id: 1 })
      .update({ package_name: null, package_key: null, changed_at: now })
    await sql('apps')
      .where({ id: 5 })
      .update({ ...taken, changed_at: now })
  })
  await database.close()
  const changed = await run(['export', '--public', '--since', '1h'], env)
  expect(changed.stderr).toMatch(/^2 removals, 1 app and 3 categories exported\./)
  expect(changed.stdout).toContain('{"removed":{"id":1,"created_at":"2020-01-01T00:00:00.000Z"}}\n')
  expect((await run(['import', '-'], mirror, changed.stdout)).stdout).toMatch(
    /0 created, 2 updated/,
  )
  const { apps } = JSON.parse(
    (await run(['app', 'list', '--status', 'approved', '--json'], mirror)).stdout,
  )
  expect(apps.map(({ id }: { id: number }) => id)).toEqual([5])
})
