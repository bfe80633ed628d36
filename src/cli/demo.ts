import { Command } from 'commander'
import { command as migrate } from './migrate.ts'
import { command as seed } from './seed.ts'
import { command as serve } from './serve.ts'

export const command = new Command('demo')
  .description('migrate, seed and serve, to try the service')
  .action(async () => {
    for (const step of [migrate, seed, serve]) await step.parseAsync([], { from: 'user' })
  })
