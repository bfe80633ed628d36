import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import document from '../../generated/openapi.json' with { type: 'json' }

/**
 * The `pattern`s of the OpenAPI document's schemas match the same texts in other languages as in
 * JavaScript: a small program in each language matches all cases.
 */

const run = promisify(execFile)

/** `matches`: whether JavaScript finds the pattern in the text. */
type Case = { pattern: string; text: string; matches: boolean }

type Schema = { type?: string; $ref?: string; pattern?: string; example?: unknown }
const { schemas: components, parameters } = document.components
const all: Schema[] = [
  ...Object.values(components),
  ...Object.values(parameters).map(({ schema }) => schema),
]
const schemas = all.flatMap(({ pattern, example = 'a' }) =>
  pattern === undefined ? [] : [{ pattern, example: String(example) }],
)
/** Texts that most patterns reject, and texts that most accept. */
const wrong = [
  ' ',
  '',
  'a\u0000b',
  'a\u001fb',
  'a\u007fb',
  'a.b',
  '1.b.c',
  'a.b.c.',
  ' a.b.c',
  'a  ',
  '\n',
  '\u0000',
]
const right = [
  'a',
  ' a ',
  '日本',
  '葛\u{e0100}',
  '👩‍👩‍👧',
  'é',
  '\u00a0',
  '\u200b',
  'a.b.c',
  'a_1.b-2.c',
  'a\tb\r\nc',
  '/',
  '"\\$',
]

const cases: Case[] = schemas.flatMap(({ pattern, example }) => {
  const regex = new RegExp(pattern, 'u')
  const generated = fc
    .sample(fc.stringMatching(regex), { numRuns: 50, seed: 1 })
    .map((text) => text.toWellFormed())
  // In some languages `$` also matches before a line break at the end, and in Ruby `^` and `$`
  // match at each line.
  const texts = [example, ...right, ...wrong, ...generated].filter(
    (text) => regex.test(text) || !text.includes('\n'),
  )
  return texts.map((text) => ({ pattern, text, matches: regex.test(text) }))
})

/**
 * Each program reads a file in UTF-8 whose lines are JSON arrays of a pattern and a text, and
 * prints 1 or 0 for each line. Java's library has no JSON parser, so Java reads the same cases in
 * hexadecimal, from `.hex`.
 */
const languages: Record<
  string,
  { file: string; program: string; command: (file: string) => [string, ...string[]] }
> = {
  'PHP (PCRE2)': {
    file: 'patterns.php',
    program: `<?php foreach (file($argv[1]) as $line) { [$pattern, $text] = json_decode($line); echo preg_match("/$pattern/", $text), "\\n"; }`,
    command: (file) => ['php', file],
  },
  'PHP (PCRE2, as UTF-8)': {
    file: 'patterns-utf8.php',
    program: `<?php foreach (file($argv[1]) as $line) { [$pattern, $text] = json_decode($line); echo preg_match("/$pattern/u", $text), "\\n"; }`,
    command: (file) => ['php', file],
  },
  Perl: {
    file: 'patterns.pl',
    program: `use JSON::PP; open(my $in, '<', $ARGV[0]); while (<$in>) { my ($p, $t) = @{decode_json($_)}; print(($t =~ /$p/ ? 1 : 0) . "\\n"); }`,
    command: (file) => ['perl', file],
  },
  Python: {
    file: 'patterns.py',
    program: `import json, re, sys
for line in open(sys.argv[1], encoding="utf-8"):
    pattern, text = json.loads(line)
    print(1 if re.search(pattern, text) else 0)`,
    command: (file) => ['python3', file],
  },
  Ruby: {
    file: 'patterns.rb',
    program: `require 'json'
File.foreach(ARGV[0], encoding: 'UTF-8') { |line| pattern, text = JSON.parse(line); puts(Regexp.new(pattern).match?(text) ? 1 : 0) }`,
    command: (file) => ['ruby', file],
  },
  Java: {
    file: 'Patterns.java',
    program: `import java.nio.file.*; import java.util.*; import java.util.regex.*;
class Patterns { public static void main(String[] a) throws Exception {
  for (String line : Files.readAllLines(Path.of(a[0] + ".hex"))) { String[] parts = line.split(" ", -1);
    System.out.println(Pattern.compile(text(parts[0])).matcher(text(parts[1])).find() ? 1 : 0); } }
  static String text(String hex) throws Exception { return new String(HexFormat.of().parseHex(hex), "UTF-8"); } }`,
    command: (file) => ['java', file],
  },
  'Go (RE2)': {
    file: 'patterns.go',
    program: `package main
import ("bufio"; "encoding/json"; "fmt"; "os"; "regexp")
func main() { file, _ := os.Open(os.Args[1]); lines := bufio.NewScanner(file)
  for lines.Scan() { var c [2]string; json.Unmarshal(lines.Bytes(), &c)
    if regexp.MustCompile(c[0]).MatchString(c[1]) { fmt.Println(1) } else { fmt.Println(0) } } }`,
    command: (file) => ['go', 'run', file],
  },
}

test('there are patterns to compare, and texts that match and that do not', () => {
  for (const { pattern } of schemas) {
    const own = cases.filter((one) => one.pattern === pattern)
    expect([own.some(({ matches }) => matches), own.some(({ matches }) => !matches)]).toEqual([
      true,
      true,
    ])
  }
})

test.for(Object.entries(languages))(
  '%s',
  async ([language, { file, program, command }], { skip, onTestFinished }) => {
    const directory = await mkdtemp(`${tmpdir()}/apps-patterns-`)
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const [executable, ...args] = command(`${directory}/${file}`)
    await run('which', [executable]).catch(() =>
      skip(`${language} is not judged: ${executable} is not installed.`),
    )
    await writeFile(`${directory}/${file}`, program)
    const input = `${directory}/cases.json`
    const hex = (text: string) => Buffer.from(text).toString('hex')
    await writeFile(
      input,
      cases.map(({ pattern, text }) => JSON.stringify([pattern, text])).join('\n'),
    )
    await writeFile(
      `${input}.hex`,
      cases.map(({ pattern, text }) => `${hex(pattern)} ${hex(text)}`).join('\n'),
    )
    const { stdout } = await run(executable, [...args, input], {
      maxBuffer: 1e8,
      env: { ...process.env, HOME: directory },
    })
    const found = stdout.trimEnd().split('\n')
    expect(cases.filter(({ matches }, index) => found[index] !== String(Number(matches)))).toEqual(
      [],
    )
    expect(found).toHaveLength(cases.length)
  },
)
