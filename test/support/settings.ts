import { readConfig } from '../../src/config.ts'

/** The names of the environment variables that `readConfig` reads. */
export function settingNames(): string[] {
  const names: string[] = []
  readConfig(new Proxy({}, { get: (_, name) => void names.push(String(name)) }))
  return names
}
