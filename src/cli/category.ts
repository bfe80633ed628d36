import { Command } from 'commander'
import { categoryStore } from '../catalogue/categories.ts'
import { addDatabaseAction, currentOperator, print, printTable } from './command.ts'

export const categoryCommand = () =>
  new Command('category')
    .description('add, list and rename the categories of apps')
    .addCommand(add())
    .addCommand(list())
    .addCommand(rename())

const slugHelp = 'slug, by which the list is filtered: lower-case letters, digits, hyphens'

const add = () =>
  addDatabaseAction(
    new Command('add')
      .description('add a category')
      .requiredOption('--slug <slug>', slugHelp)
      .requiredOption('--name <name>', 'name, as the catalogue shows it'),
    {
      help: `
Example:
  npx apps-service category add --slug travel --name Travel

JSON: {id, slug, name}.`,
      run: (database, { slug, name }: { slug: string; name: string }) =>
        database.write((connection) => categoryStore(connection).add(slug, name, currentOperator())),
      print: ({ id, slug, name }) => print(`Added category ${id}: ${name} (${slug}).`),
    },
  )

const list = () =>
  addDatabaseAction(new Command('list').description('list categories by name, with the number of apps in each'), {
    help: `
Example:
  npx apps-service category list

JSON: an array of {id, slug, name, listed_apps, all_apps}. listed_apps counts
the apps that everyone sees; all_apps counts pending, rejected and deleted ones
too.`,
    json: 'a JSON array',
    run: (database) => database.read((connection) => categoryStore(connection).listWithCounts()),
    print: (categories) =>
      printTable(
        ['ID', 'SLUG', 'NAME', 'LISTED APPS', 'ALL APPS'],
        categories.map(({ id, slug, name, listed_apps, all_apps }) => [id, slug, name, listed_apps, all_apps]),
        { shrinkable: ['SLUG', 'NAME'] },
      ),
  })

const rename = () =>
  addDatabaseAction(
    new Command('rename')
      .description('rename a category; without --slug it keeps its slug, and links to it go on working')
      .argument('<slug>', 'current slug')
      .requiredOption('--name <name>', 'new name')
      .option('--slug <slug>', `new ${slugHelp}`),
    {
      help: `
Examples:
  npx apps-service category rename travel --name "Travel & Maps"
  npx apps-service category rename travel --name Maps --slug maps

JSON: {id, slug, name}.`,
      run: (database, slug: string, changes: { name: string; slug?: string }) =>
        database.write((connection) => categoryStore(connection).rename(slug, changes, currentOperator())),
      print: ({ id, slug, name }) => print(`Category ${id} is ${name} (${slug}) now.`),
    },
  )
