import { Command } from 'commander'
import { categoryStore } from '../catalogue/categories.ts'
import { currentOperator, print, printJson, printTable, withDatabase } from './command.ts'

const slugHelp = 'URL-style name, as the list is filtered by: lower-case letters, digits, hyphens'

export const categoryCommand = () =>
  new Command('category')
    .description('categories that apps can be in')
    .addCommand(
      new Command('add')
        .description('add a category')
        .requiredOption('--slug <slug>', slugHelp)
        .requiredOption('--name <name>', 'name, as the catalogue shows it')
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Example:
  npx apps-service category add --slug travel --name Travel

JSON: {id, slug, name}.`,
        )
        .action(add),
    )
    .addCommand(
      new Command('list')
        .description('list categories by name, with how many apps are in each')
        .option('--json', 'print a JSON array')
        .addHelpText(
          'after',
          `
Example:
  npx apps-service category list

JSON: an array of {id, slug, name, listed_apps, all_apps}: those that everyone
sees, and those in any state, deleted ones too.`,
        )
        .action(list),
    )
    .addCommand(
      new Command('rename')
        .description('give a category another name; its slug, which links hold, stays unless told otherwise')
        .argument('<slug>', 'slug that the category has')
        .requiredOption('--name <name>', 'name that it is given')
        .option('--slug <slug>', `other ${slugHelp}`)
        .option('--json', 'print one JSON object')
        .addHelpText(
          'after',
          `
Examples:
  npx apps-service category rename travel --name "Travel & Maps"
  npx apps-service category rename travel --name Maps --slug maps

JSON: {id, slug, name}.`,
        )
        .action(rename),
    )

async function add(options: { slug: string; name: string; json?: true }) {
  const category = await withDatabase((database) =>
    database.write((connection) => categoryStore(connection).add(options.slug, options.name, currentOperator())),
  )
  if (options.json) return printJson(category)
  print(`Added category ${category.id}: ${category.name} (${category.slug}).`)
}

async function list(options: { json?: true }) {
  const categories = await withDatabase((database) =>
    database.read((connection) => categoryStore(connection).listWithCounts()),
  )
  if (options.json) return printJson(categories)
  printTable(
    ['ID', 'SLUG', 'NAME', 'LISTED APPS', 'ALL APPS'],
    categories.map(({ id, slug, name, listed_apps, all_apps }) => [id, slug, name, listed_apps, all_apps]),
    ['SLUG', 'NAME'],
  )
}

async function rename(slug: string, options: { name: string; slug?: string; json?: true }) {
  const category = await withDatabase((database) =>
    database.write((connection) => categoryStore(connection).rename(slug, options, currentOperator())),
  )
  if (options.json) return printJson(category)
  print(`Category ${category.id} is ${category.name} (${category.slug}) now.`)
}
