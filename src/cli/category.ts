import { Command } from 'commander'
import {
  addCategory,
  findCategoriesWithCounts,
  removeCategory,
  renameCategory,
} from '../catalogue/category-store.ts'
import { OperatorError } from '../contract/errors.ts'
import { buildDatabaseCommand, commandGroup, currentOperator } from './command.ts'
import { print, printInfo, printTable } from './output.ts'

const slugHelp = 'slug, by which the list is filtered: lower-case letters, digits, hyphens'

const add = buildDatabaseCommand({
  command: new Command('add')
    .description('add a category')
    .requiredOption('--slug <slug>', slugHelp)
    .requiredOption('--name <name>', 'name, as the catalogue shows it'),
  help: `
Examples:
  ./apps-service category add --slug travel --name Travel

JSON: {id, slug, name}.`,
  run: (database, { slug, name }: { slug: string; name: string }) =>
    database.write((runner) => addCategory(runner, slug, name, currentOperator())),
  print: ({ id, slug, name }) => print(`Added category ${id}: ${name} (${slug}).`),
})

const list = buildDatabaseCommand({
  command: new Command('list').description(
    'list categories by name, with the number of apps in each',
  ),
  help: `
Examples:
  ./apps-service category list

JSON: an array of {id, slug, name, listed_apps, all_apps}. listed_apps counts
the apps that everyone sees; all_apps counts pending, rejected and deleted ones
too.`,
  run: (database) => database.read(findCategoriesWithCounts),
  print(categories) {
    if (categories.length === 0) return printInfo('No categories.')
    printTable(
      categories.map((category) => ({
        ID: category.id,
        SLUG: category.slug,
        NAME: category.name,
        'LISTED APPS': category.listed_apps,
        'ALL APPS': category.all_apps,
      })),
      ['SLUG', 'NAME'],
    )
  },
})

const rename = buildDatabaseCommand({
  command: new Command('rename')
    .description('rename a category; without --slug it keeps its slug, and links to it still work')
    .argument('<slug>', 'current slug')
    .requiredOption('--name <name>', 'new name')
    .option('--slug <slug>', `new ${slugHelp}`),
  help: `
Examples:
  ./apps-service category rename travel --name "Travel & Maps"
  ./apps-service category rename travel --name Maps --slug maps

JSON: {id, slug, name}.`,
  run: (database, slug: string, changes: { name: string; slug?: string }) =>
    database.write((runner) => renameCategory(runner, slug, changes, currentOperator())),
  print: ({ id, slug, name }) => print(`Category ${id} is ${name} (${slug}) now.`),
})

const remove = buildDatabaseCommand({
  command: new Command('remove')
    .description('remove a category without apps')
    .argument('<slug>', 'current slug'),
  help: `
The audit log keeps its entries about the category.

Examples:
  ./apps-service category remove trvael

JSON: {id, slug, name}.`,
  run: (database, slug: string) =>
    database
      .write((runner) => removeCategory(runner, slug, currentOperator()))
      .catch((error) => {
        if (!database.explain(error).violatesForeignKey) throw error
        throw new OperatorError(
          `the category ${slug} has apps, possibly deleted ones; rename it instead`,
        )
      }),
  print: ({ id, slug, name }) => print(`Removed category ${id}: ${name} (${slug}).`),
})

export const command = commandGroup(
  'category',
  'add, list, rename and remove the categories of apps',
  [add, list, rename, remove],
)
