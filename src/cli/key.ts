import { Command } from 'commander'
import { accountStore } from '../accounts/store.ts'
import { note, operator, print, printJson, withDatabase } from './command.ts'

export const keyCommand = () =>
  new Command('key')
    .description('API keys of developers')
    .addCommand(
      new Command('issue')
        .description('issue a key and print it, this once; the developer is made where there is none of that name')
        .requiredOption('--developer <name>', 'name of the developer, as the catalogue shows it')
        .option('--json', 'print one JSON object')
        .addHelpText('after', '\nExample:\n  npx apps-service key issue --developer "Harbour Software"')
        .action(issue),
    )

async function issue(options: { developer: string; json?: true }) {
  const { developer, issued } = await withDatabase((database) =>
    database.write(async (connection) => {
      const accounts = accountStore(connection)
      const developer = await accounts.developerNamed(options.developer)
      return { developer, issued: await accounts.issueKey(developer, operator()) }
    }),
  )
  if (options.json) return printJson(issued)
  note(
    `Key of ${developer.isNew ? 'the new developer ' : ''}${developer.name}, until ${issued.expires_at}. It is not shown again:`,
  )
  print(issued.key)
}
