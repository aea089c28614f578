import { messageOf } from '../error-message.js'
import { openPlantsFile } from './sources/sqlite-source.js'

/**
 * Copies a snapshot of a database file (the first argument) to an empty file (the second). A process of its own, since
 * SQLite blocks it until it is done; without handlers, any signal ends it at once.
 */
const [source = '', copy = ''] = process.argv.slice(2)
try {
  const { database, requireUnchanged } = await openPlantsFile(source)
  // https://sqlite.org/lang_vacuum.html#vacuum_with_an_into_clause; .backup would restart at each write.
  database.prepare('VACUUM INTO ?').run(copy)
  requireUnchanged()
} catch (error) {
  process.stderr.write(messageOf(error))
  process.exitCode = 1
}
