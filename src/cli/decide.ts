import { Command } from 'commander'
import type { Decision } from '../catalogue/policy.ts'
import { type AppReference, formatReference, parseReason } from '../contract/field-rules.ts'
import type { Database } from '../db/database.ts'
import { type AppDecision, type DecisionResult, decideEach } from '../moderation/decisions.ts'
import { formatAge } from '../util/time.ts'
import { buildDatabaseCommand, currentOperator, parseAppReference, parseWith } from './command.ts'
import { readDecisions } from './decision-file.ts'
import { messageOf, print, printError } from './output.ts'

/** The commands of `moderation` that decide. */

const decisionCommand = (decision: Decision, command: Command, examples: string) =>
  buildDatabaseCommand({
    command: command.argument(
      '<ids...>',
      'ids of apps, optionally with the revisions that queue and show print',
      (text: string, others: AppReference[] = []) => [...others, parseAppReference(text)],
    ),
    help: `
With a revision, an app that has changed since is refused. Each app is decided
separately. If one fails, the others are not affected, and the exit code is 1.

Examples:
${examples}

JSON: an array in the order of the ids: {id, slug, status}, or {id, error}.`,
    run: (
      database,
      apps: AppReference[],
      { reason = '', json }: { reason?: string; json?: true },
    ) => {
      const unique = new Map(apps.map((app) => [formatReference(app), app])).values()
      return decideAll(database, [...unique.map((app) => ({ ...app, decision, reason }))], json)
    },
  })

export const approve = decisionCommand(
  'approve',
  new Command('approve').description(
    'show pending or rejected apps to everyone; accept the changes of approved ones',
  ),
  `  ./apps-service moderation approve 42@k3f9a
  ./apps-service moderation approve 42@k3f9a 43@q09zb`,
)

export const reject = decisionCommand(
  'reject',
  new Command('reject')
    .description('reject pending apps, or take approved ones down')
    .requiredOption('--reason <text>', 'why; the owner reads it', parseWith(parseReason)),
  '  ./apps-service moderation reject 42@k3f9a --reason "The link is dead."',
)

export const reopen = decisionCommand(
  'reopen',
  new Command('reopen').description('put approved or rejected apps back into the queue'),
  '  ./apps-service moderation reopen 42@k3f9a',
)

export const decide = buildDatabaseCommand({
  command: new Command('decide')
    .description('apply decisions from a file')
    .argument('<file>', 'NDJSON, or - for standard input: {id, decision, reason} on each line'),
  help: `
A decision is approve, reject or reopen; reject needs a reason. An id may have
the revision that queue and show print, such as 42@k3f9a: an app that has
changed since is refused. If a line is not valid, nothing is decided. Then each
app is decided separately. If one fails, the others are not affected, and the
exit code is 1.

Examples:
  ./apps-service moderation decide decisions.ndjson
  ./apps-service moderation queue --json | jq -c '.apps[] |
    {id: "\\(.id)@\\(.revision)", decision: "approve"}' |
    ./apps-service moderation decide -

JSON: an array in the order of the file: {id, slug, status}, or {id, error}.`,
  run: async (database, file: string, { json }: { json?: true }) =>
    decideAll(database, await readDecisions(file), json),
})

/**
 * Applies the decisions. Prints each result unless `json`, and each refusal as an error. Returns the
 * results in the order of the decisions.
 */
async function decideAll(database: Database, decisions: AppDecision[], json?: true) {
  const results: (DecisionResult | { id: number; error: string })[] = []
  for await (const result of decideEach(database, decisions, currentOperator())) {
    if ('error' in result) {
      const error = messageOf(result.error)
      printError(error)
      results.push({ id: result.id, error })
      continue
    }
    const { before, ...decided } = result
    results.push(decided)
    if (json) continue
    // Shows the current name: the owner may have changed it since it was read.
    print(
      `App ${decided.id} (${decided.slug}) is now ${decided.status}. Its name is ${JSON.stringify(before.name)}; before the decision, it last changed ${formatAge(before.updated_at)} ago.`,
    )
  }
  return results
}
