import { messageOf } from '../../error-message.js'
import { openPlantsFile } from './sources/sqlite-source.js'

// Copies a snapshot of a database file (the first argument) to an empty file (the second), in a process of its own:
// SQLite goes on until it is done, and only a signal stops it.
const [source = '', copy = ''] = process.argv.slice(2)
openPlantsFile(source)
  // https://sqlite.org/lang_vacuum.html#vacuum_with_an_into_clause; .backup would restart at each write.
  .then(database => database.prepare('VACUUM INTO ?').run(copy))
  .catch((error: unknown) => {
    process.stderr.write(messageOf(error))
    process.exitCode = 1
  })
  // Whatever timers a preloaded module has.
  .finally(() => process.exit())
