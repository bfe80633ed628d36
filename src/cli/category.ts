import { Command } from 'commander'
import { categoryStore } from '../apps/categories.ts'
import { operator, print, printJson, withDatabase } from './command.ts'

export const categoryCommand = () =>
  new Command('category')
    .description('categories that apps can be in')
    .addCommand(
      new Command('add')
        .description('add a category')
        .requiredOption(
          '--slug <slug>',
          'URL-style name, as the list is filtered by: lower-case letters, digits, hyphens',
        )
        .requiredOption('--name <name>', 'name, as the catalogue shows it')
        .option('--json', 'print one JSON object')
        .addHelpText('after', '\nExample:\n  npx apps-service category add --slug travel --name Travel')
        .action(add),
    )

async function add(options: { slug: string; name: string; json?: true }) {
  const category = await withDatabase((database) =>
    database.write((connection) => categoryStore(connection).add(options.slug, options.name, operator())),
  )
  if (options.json) return printJson(category)
  print(`Added category ${category.id}: ${category.name} (${category.slug}).`)
}
