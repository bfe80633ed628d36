import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { unnoticed } from './unnoticed.js'

/** Tells of each mistake that no test saw, but for those that nobody could notice, and of each file how many were seen. */
class Survivors {
  onMutationTestReportReady({ files }) {
    const counts = Object.entries(files).map(([file, { source, mutants }]) => count(file, source.split('\n'), mutants))
    console.log(`\n${table([...counts, sum(counts)])}`)
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, 'survivors', Survivors)]

function count(file, lines, mutants) {
  const listed = new Set(unnoticed.flatMap((entry) => entry[file] ?? []))
  const seen = mutants.filter(({ status }) => status === 'Killed' || status === 'Timeout')
  const unseen = mutants
    .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
    .map(({ location, ...mutant }) => ({ ...mutant, location, text: withMistake(lines, location, mutant.replacement) }))
  const survivors = unseen.filter(({ text }) => !listed.has(text))
  for (const { location, status, mutatorName, text } of survivors) {
    const { line } = location.start
    const ran = status === 'NoCoverage' ? ', which no test runs' : ''
    console.log(`\n${file}:${line} ${mutatorName}${ran}\n- ${lines[line - 1]?.trim()}\n+ ${text}`)
  }
  for (const text of listed.difference(new Set(unseen.map(({ text }) => text)))) {
    console.log(`\n${file}: stands in unnoticed.js, and is seen, or is no more\n+ ${text}`)
  }
  return { file, seen: seen.length, listed: unseen.length - survivors.length, survivors: survivors.length }
}

/** The line as it is with the mistake; of several lines, the first and the last, made one. */
function withMistake(lines, { start, end }, replacement) {
  const before = lines[start.line - 1]?.slice(0, start.column - 1)
  const behind = lines[end.line - 1]?.slice(end.column - 1)
  return `${before}${replacement}${behind}`.replaceAll(/\s+/g, ' ').trim()
}

const sum = (counts) => ({
  file: 'in all',
  ...Object.fromEntries(
    ['seen', 'listed', 'survivors'].map((name) => [name, counts.reduce((total, one) => total + one[name], 0)]),
  ),
})

const table = (counts) =>
  counts
    .map(({ file, seen, listed, survivors }) => {
      const score = `${((seen / Math.max(1, seen + survivors)) * 100).toFixed(1)} %`
      return `${score.padStart(7)}  ${file}: ${seen} seen, ${survivors} not; beside ${listed} that nobody could notice`
    })
    .join('\n')
