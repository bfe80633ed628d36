import { openEngine } from '../database.ts'
import { fewest, makeLists } from './making-lists.ts'

// A process of its own, which upkeep.ts starts: makes the lists of the database in a file.
const { reader, writer, close } = openEngine(`sqlite:${process.argv[2]}`)
await makeLists(
  { snapshot: (work) => reader.transaction(work), write: (work) => writer.transaction(work) },
  fewest,
).finally(close)
