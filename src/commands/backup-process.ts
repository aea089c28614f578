import { messageOf } from '../error-message.js'
import { openPlantsFile } from './sources/sqlite-source.js'

/**
 * Copies a snapshot of a database file (the first argument) to an empty file (the second). SQLite blocks this process
 * until it is done: only SIGKILL stops it.
 */
const [source = '', copy = ''] = process.argv.slice(2)
// A terminal sends SIGINT to both processes: the parent decides.
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => {})
try {
  const { database, requireUnchanged } = await openPlantsFile(source)
  // https://sqlite.org/lang_vacuum.html#vacuum_with_an_into_clause; .backup would restart at each write.
  database.prepare('VACUUM INTO ?').run(copy)
  requireUnchanged()
  database.close()
} catch (error) {
  process.stderr.write(messageOf(error))
  process.exitCode = 1
}
