import { isMainThread, Worker } from 'node:worker_threads'
import { messageOf } from '../../error-message.js'

// Copies a snapshot of a database file (the first argument) to an empty file (the second), in a process of its own:
// only a signal stops SQLite. Its standard input ends when its parent ends, however it ends.
if (isMainThread) {
  process.stdin.on('close', () => process.kill(process.pid, 'SIGKILL')).resume()
  const copying = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) })
  copying.on('error', error => process.stderr.write(messageOf(error)))
  copying.on('exit', code => process.exit(code))
} else {
  const [source = '', copy = ''] = process.argv.slice(2)
  // The main thread does not need it.
  const { openPlantsFile } = await import('./sources/sqlite-source.js')
  const { database, requireUnchanged } = await openPlantsFile(source)
  // https://sqlite.org/lang_vacuum.html#vacuum_with_an_into_clause; .backup would restart at each write.
  database.prepare('VACUUM INTO ?').run(copy)
  requireUnchanged()
}
