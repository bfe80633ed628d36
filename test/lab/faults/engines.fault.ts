import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { migrate } from '../../../src/db/migrations.ts'
import { openDatabase } from '../../../src/db/open-database.ts'
import { required } from '../../../src/util/helpers.ts'
import { startDatabase } from '../../faults/postgres.ts'
import { importLines } from '../../support/catalogue-file.ts'
import { expectConsistentAt } from '../../support/consistency.ts'
import { temporaryFolder } from '../../support/database.ts'
import { hasPostgres } from '../../support/postgres.ts'
import { commandLine, executable, serve } from '../../support/process.ts'
import { randomFrom } from '../../support/random.ts'
import { isShortRun } from '../../support/short-run.ts'
import { sortOrders } from '../../support/sort-orders.ts'
import { fill } from '../bench/catalogue.ts'
import { listingLines } from '../listings/listing-lines.ts'

const size = isShortRun ? 1000 : 20_000
const { PLAY_SAMPLE: sample = '' } = process.env

/** Words of ten scripts. */
const scripts = {
  latin: 'crème façade naïve über straße smörgås jalapeño đường İstanbul łódź señor Ærø',
  cyrillic: 'здоровье карта музыка погода словарь дневник поезд ёлка перевод кухня',
  greek: 'καιρός μουσική χάρτης λεξικό Άνοιξη ταξίδι ημερολόγιο υγεία ρολόι σπίτι',
  arabic: 'خريطة طقس موسيقى قاموس صحة سفر ساعة مطبخ رحلة كتاب',
  hebrew: 'מפה מוזיקה מילון בריאות שעון מטבח מסע ספר יומן רכבת',
  devanagari: 'मौसम संगीत नक्शा शब्दकोश यात्रा घड़ी रसोई किताब दिनचर्या स्वास्थ्य',
  thai: 'อากาศ ดนตรี แผนที่ พจนานุกรม สุขภาพ เดินทาง นาฬิกา ครัว หนังสือ บันทึก',
  chinese:
    '天气预报 音乐播放 地图导航 词典翻译 健康生活 旅行日记 时钟闹钟 厨房食谱 图书阅读 火车时刻',
  japanese:
    '天気予報 おんがく カメラ 日本語辞書 ケンコウ 旅行ガイド とけい キッチン 読書ノート 電車時刻表',
  korean: '날씨예보 음악 지도 사전 건강관리 여행 시계 주방요리 독서 기차시간표',
}

const { next, pick } = randomFrom(11)

/** Apps named with words of a script, some without a space, some with a Latin word. */
const linesOf = (script: string, words: string[]) =>
  Array.from({ length: 40 }, (_, number) => ({
    name: `${pick(words)}${next() < 0.5 ? ' ' : ''}${pick(words)} ${number % 5 === 0 ? 'Wi-Fi' : ''}`.trim(),
    short_description: `${pick(words)} ${pick(words)}`,
    description: Array.from({ length: 30 }, () => pick(words)).join(next() < 0.5 ? ' ' : '、'),
    package_name: `org.example.${script}.app${number}`,
    category: 'category-1',
    developer_name: `${pick(words)} ${script}`,
    status: 'approved',
    total_downloads: Math.floor(next() * 1000),
  }))

/**
 * Fifty searches per script: words, prefixes, several words, capitals, substrings, typos, with sort
 * and category.
 */
const searchesOf = (words: string[]) =>
  Array.from({ length: 50 }, (_, number) => {
    const word = pick(words)
    const letters = [...word]
    const text = [
      word,
      letters.slice(0, 1 + Math.floor(next() * letters.length)).join(''),
      `${word} ${pick(words)}`,
      word.toUpperCase(),
      letters.slice(1, 3).join(''),
      letters.toSpliced(Math.floor(next() * letters.length), 1).join(''),
      `${word} wifi`,
      word.normalize('NFD'),
    ][number % 8]
    const more = [
      '',
      '&sort=popular',
      '&category=category-1',
      '&sort=rating&limit=100',
      '&page=2&limit=7',
    ]
    return `/apps?search=${encodeURIComponent(text || word)}${more[number % more.length]}`
  })

/** The parts of a response that must be equal on all servers. */
type ComparedResponse = { status: number; etag: string | null; link: string | null; text: string }

test.skipIf(!hasPostgres)(
  `SQLite, a copy on PostgreSQL and an import into PostgreSQL return equal responses for ${size.toLocaleString('en')} apps`,
  async () => {
    const source = `sqlite:${temporaryFolder()}/source.sqlite`
    const database = openDatabase(source)
    await migrate(database)
    await fill(database, size)
    const words = Object.entries(scripts).map(
      ([script, text]) => [script, text.split(' ')] as const,
    )
    const lines = [
      ...words.flatMap(([script, ofScript]) => linesOf(script, ofScript)),
      ...(sample === '' ? [] : listingLines(sample)),
    ]
    const { created } = await importLines(database, lines)
    expect(created).toBeGreaterThan(399)
    await database.optimize({ isLast: true })
    await database.close()

    const migrateAt = async (address: string) => {
      const { code, stderr } = await commandLine(address).run('migrate')
      expect([code, stderr]).toEqual([0, ''])
    }
    const [[copied, ...workers]] = await startDatabase(migrateAt)
    const [[imported]] = await startDatabase(migrateAt)
    const { seconds } = await commandLine(source).json('copy', '--to', copied)
    await pipe(source, imported)
    for (const address of [copied, imported]) await expectConsistentAt(address)

    const env = { BASE_URL: 'http://apps.test', CACHE_SIZE: '0' }
    const servers = await Promise.all(
      [source, copied, imported, ...workers].map((address) => serve(address, env)),
    )
    async function get(port: number, path: string, attempts = 1): Promise<ComparedResponse> {
      // A busy server skips compression, and the ETag says so.
      const headers = { 'Accept-Encoding': 'identity' }
      const send = () => fetch(`http://127.0.0.1:${port}${path}`, { headers })
      // A server may close an idle connection just when it is used again.
      const response = await send().catch(send)
      const { status } = response
      const text = await response.text()
      // Refused because the machine was busy: try again.
      if (status === 503 && attempts < 20)
        return delay(500).then(() => get(port, path, attempts + 1))
      const header = (name: string) => response.headers.get(name)
      return { status, etag: header('etag'), link: header('link'), text }
    }
    const first = await get(required(servers[0], 'first server').port, '/apps?limit=100')
    const { total_pages } = JSON.parse(first.text).data.pagination
    const pages = sortOrders.flatMap((sort) =>
      Array.from(
        { length: total_pages },
        (_, index) => `/apps?limit=100&sort=${sort}&page=${index + 1}`,
      ),
    )
    const searches = words.flatMap(([, ofScript]) => searchesOf(ofScript))
    const details = Array.from({ length: size + created }, (_, index) => `/apps/${index + 1}`)
    const paths = [...pages, ...searches, ...details].values()
    let found = 0
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        // All four take from one iterator.
        for (const path of paths) {
          const [expected, ...others] = await Promise.all(
            servers.map(({ port }) => get(port, path)),
          )
          expect(expected?.status, path).toBe(200)
          for (const other of others) expect(other, path).toEqual(expected)
          if (path.startsWith('/apps?search') && !expected?.text.includes('"apps":[]')) found++
        }
      }),
    )
    console.log(
      `equal on both engines: ${pages.length} pages, ${searches.length} searches, of which ${found} found something, ${details.length} details`,
      `of which ${sample === '' ? 0 : created - 400} are real listings; copied in ${seconds} s`,
    )
    expect(found).toBeGreaterThan(searches.length / 2)
  },
)

/** `export | import`. */
async function pipe(from: string, to: string) {
  const env = { PATH: process.env.PATH }
  const [exporting, importing] = [
    spawn(executable, ['export'], {
      env: { ...env, DATABASE_URL: from },
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
    spawn(executable, ['import', '-'], {
      env: { ...env, DATABASE_URL: to },
      stdio: ['pipe', 'ignore', 'inherit'],
    }),
  ]
  exporting.stdout.pipe(importing.stdin)
  const ended = await Promise.all([exporting, importing].map((child) => once(child, 'exit')))
  expect(ended.map(([code]) => code)).toEqual([0, 0])
}
