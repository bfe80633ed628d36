import { basename } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Begins with these files, named without their endings, so that no worker is still busy with a long
 * one when the others are done. By default, vitest begins with the largest files.
 */
export function longestFirst(...names: string[]) {
  const rank = ({ moduleId }: TestSpecification) => {
    const index = names.indexOf(basename(moduleId).split('.', 1)[0] ?? '')
    return index === -1 ? names.length : index
  }
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]) {
      return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
    }
  }
}
