import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdirSync, openSync, readdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { bare, Program, program, testFolder, type ExitResult } from '../support/process/program.js'
import { needsProgram } from '../support/process/needs.js'
import { hang } from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { openSqlite, plantsInFile } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { fill, manyPlants, partial } from './plants.js'
import { runHere } from './run-here.js'

function makeFifo (folder: string, name: string): string {
  const path = join(folder, name)
  execFileSync('mkfifo', [path])
  return path
}

/** A folder whose plants.db keeps the thread that opens it waiting, without an end. */
function folderThatBlocks (t: Test): string {
  const folder = testFolder(t)
  makeFifo(folder, 'plants.db')
  return folder
}

/** A MongoDB that does not respond to any command of a kind. */
async function mongoThatHangs (t: Test, command: string): Promise<string> {
  const mongo = await ScriptedMongo.start(t)
  mongo.on(command, hang(), { times: 1_000 })
  return mongo.url
}

/** Whether a process runs. One that ended, but whose parent has not asked for its exit code, does not. */
function isRunning (pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return /^[^Z\s]/.test(stdout.trim())
}

/** The process that a `backup` started. It is killed after the test. */
async function childOf (t: Test, pid: number): Promise<number> {
  let child = 0
  await until(() => {
    child = Number(spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' }).stdout)
    return child > 0
  }, 50)
  t.teardown(() => { if (isRunning(child)) process.kill(child, 'SIGKILL') })
  return child
}

/** Starts a command on a terminal, which script(1) makes; returns its process id, and closes the terminal on demand. */
async function startOnTerminal (t: Test, args: string[], env: NodeJS.ProcessEnv) {
  const command = ['script', '-qec', `echo pid $$; exec ${[process.execPath, program, ...args].join(' ')}`, '/dev/null']
  const terminal = spawn('env', bare({ PATH: process.env.PATH, SHELL: '/bin/sh', ...env }, command))
  t.teardown(() => terminal.kill('SIGKILL'))
  let shown = ''
  terminal.stdout.on('data', text => { shown += text })
  await until(() => /pid \d+/.test(shown))
  return { pid: Number(/pid (\d+)/.exec(shown)?.[1]), close: () => terminal.kill('SIGKILL') }
}

/** Sends a signal; a process that it does not end within ten seconds is killed. */
async function endWith (signal: NodeJS.Signals, { child, ended }: Pick<Program, 'child' | 'ended'>): Promise<ExitResult> {
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  const result = await ended
  clearTimeout(timer)
  return result
}

const withTerminal = needsProgram('script', 'bsdutils')

t.test('closing the terminal ends a backup and an export, which leave no file and no process behind', withTerminal, async t => {
  const folder = folderThatBlocks(t)
  const backup = await startOnTerminal(t, ['backup', join(folder, 'backup.db')], { DATA_DIR: folder })
  const child = await childOf(t, backup.pid)
  backup.close()
  await until(() => !isRunning(backup.pid), 50)
  t.notOk(isRunning(child))
  t.strictSame(readdirSync(folder), ['plants.db'])

  const file = join(folder, 'plants.ndjson')
  const exporting = await startOnTerminal(t, ['export', file], { MONGODB_URL: await mongoThatHangs(t, 'find') })
  await until(() => partial(folder).length > 0)
  exporting.close()
  await until(() => !isRunning(exporting.pid), 50)
  t.strictSame(readdirSync(folder), ['plants.db'])
})

t.test('without a terminal, as under nohup and cron, SIGHUP changes nothing', async t => {
  const folder = testFolder(t)
  const file = join(folder, 'backup.db')
  const lock = openSqlite(join(folder, 'plants.db'))
  lock.exec("CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT); INSERT INTO plants VALUES (1, 'one', NULL)")
  lock.exec('BEGIN EXCLUSIVE')
  const variables = { PATH: process.env.PATH, DATA_DIR: folder }
  // The leader of a group, to which a shell sends its signals.
  const backup = spawn('env', bare(variables, [process.execPath, program, 'backup', file]), { detached: true, stdio: 'ignore' })
  const ended = once(backup, 'exit')
  const pid = backup.pid as number
  await childOf(t, pid)
  process.kill(-pid, 'SIGHUP')
  lock.close()
  t.strictSame(await ended, [0, null])
  t.equal(plantsInFile(file).size, 1)
})

t.test('an interrupted backup leaves no file and no process behind', async t => {
  const folder = folderThatBlocks(t)
  const backup = new Program(['backup', join(folder, 'backup.db')], { DATA_DIR: folder })
  const child = await childOf(t, backup.pid)
  const { code, stderr } = await endWith('SIGTERM', backup)
  t.equal(code, 1)
  t.match(stderr, /^plant-store: interrupted: run it again$/m)
  t.notOk(isRunning(child))
  t.strictSame(readdirSync(folder), ['plants.db'])
})

t.test('the process that copies does not outlive a backup that is killed, and the next backup removes its file', async t => {
  const folder = folderThatBlocks(t)
  const file = join(folder, 'backup.db')
  const backup = new Program(['backup', file], { DATA_DIR: folder })
  const child = await childOf(t, backup.pid)
  backup.child.kill('SIGKILL')
  await until(() => !isRunning(child), 50)
  t.equal(partial(folder).length, 1)
  const data = join(folder, 'data')
  fill(data, manyPlants(3))
  t.match(await runHere(['backup', file], { DATA_DIR: data }), { code: 0 })
  t.strictSame(readdirSync(folder).sort(), ['backup.db', 'data', 'plants.db'])
})

t.test('SIGINT and SIGTERM end an import at once, whatever it waits for, with its counts', async t => {
  const folder = testFolder(t)
  fill(folder, [])
  const silent = makeFifo(folder, 'silent')
  const begun = makeFifo(folder, 'begun')
  const env = { DATA_DIR: folder }
  const start = (file: string) => new Program(['import', file], env, { input: true })
  const substitution = spawn('env', bare({ PATH: process.env.PATH, ...env }, [
    'bash', '-c', `exec ${process.execPath} ${program} import <(exec sleep 600)`
  ]), { detached: true, stdio: ['ignore', 'ignore', 'ignore'] })
  t.teardown(() => process.kill(-(substitution.pid as number), 'SIGKILL'))
  const ended = once(substitution, 'exit').then(([code, signal]) => ({ code, signal, stdout: '', stderr: '' }))

  const waiting = [start(silent), start(begun), start('/dev/stdin')] as const
  // For reading too, so that it does not wait for the reader.
  const writer = openSync(begun, 'r+')
  writeSync(writer, '{"id":1,"name":"one"}\n{"id":2,"na')
  waiting[2].child.stdin?.write('{"id":3,"name":"three"}\n')
  await until(() => plantsInFile(join(folder, 'plants.db')).size === 2)
  await until(() => waiting[0].stderr.includes('to '))
  await Promise.all(waiting.map(async (importing, index) => {
    const { code, stdout, stderr } = await endWith(index % 2 === 0 ? 'SIGINT' : 'SIGTERM', importing)
    t.equal(code, 1, stderr)
    t.equal(stdout, `copied ${index === 0 ? 0 : 1}, already there 0, in conflict 0, invalid 0\n`)
    t.match(stderr, /^plant-store: interrupted: run it again$/m)
  }))
  t.match(await endWith('SIGINT', { child: substitution, ended }), { code: 1 })
})

t.test('an import waits for the writer of a FIFO, and reads what comes to the end', async t => {
  const folder = testFolder(t)
  const fifo = makeFifo(folder, 'lines')
  const importing = runHere(['import', fifo], { DATA_DIR: folder })
  await new Promise(resolve => setTimeout(resolve, 100))
  const writer = createWriteStream(fifo)
  for (const part of ['{"id":1,"na', 'me":"one"}\n{"id":', '2,"name":"two"}']) {
    await new Promise(resolve => writer.write(part, resolve))
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  writer.end()
  t.match(await importing, { code: 0, stdout: 'copied 2, already there 0, in conflict 0, invalid 0\n' })
})

t.test('a MongoDB that does not respond holds up an interrupted command for seconds, and a second signal ends it at once', async t => {
  const folder = testFolder(t)
  const data = join(folder, 'data')
  mkdirSync(data)
  fill(data, manyPlants(3))
  const interruption = new AbortController()
  const mongo = await ScriptedMongo.start(t)
  // The check before the copy is answered.
  mongo.on('insert', (_context, execute) => {
    mongo.on('insert', () => interruption.abort(), { times: 1_000 })
    return execute()
  })
  const migrating = runHere(['migrate'], { DATA_DIR: data, MONGODB_URL: mongo.url }, interruption)

  const file = join(folder, 'plants.ndjson')
  const exporting = new Program(['export', file], { MONGODB_URL: await mongoThatHangs(t, 'find') })
  await until(() => partial(folder).length > 0)
  const again = setInterval(() => exporting.child.kill('SIGTERM'), 100)
  t.match(await exporting.ended, { code: 143 })
  clearInterval(again)
  t.notOk(existsSync(file))
  t.strictSame(readdirSync(folder), ['data'])
  t.match(await migrating, { code: 1, stdout: 'copied 0, already there 0, in conflict 0, invalid 0\n', stderr: /interrupted/ })
})
