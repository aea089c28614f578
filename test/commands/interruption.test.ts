import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sqliteBinding } from '../../src/stores/sqlite/database.js'
import { Program, program, testFolder } from '../support/process/program.js'
import { needsProgram } from '../support/process/needs.js'
import { hang } from '../support/scripted-mongodb/cues.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'
import { until } from '../support/until.js'
import { fill, partial } from './plants.js'

/** A folder whose plants.db another program has locked: for 5 seconds, who reads it waits. */
async function folderThatBlocks (t: Test): Promise<string> {
  const folder = testFolder(t)
  const { DatabaseSync } = await sqliteBinding()
  const database = new DatabaseSync(join(folder, 'plants.db'))
  database.exec('CREATE TABLE plants(id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT); BEGIN EXCLUSIVE')
  t.teardown(() => database.close())
  return folder
}

/** Whether a process runs. One that ended, but whose parent has not asked for its exit code, does not. */
function isRunning (pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return /^[^Z\s]/.test(stdout.trim())
}

/** The process that a `backup` started, once it leads a group of its own. It is killed after the test. */
async function childOf (t: Test, pid: number): Promise<number> {
  let child = 0
  await until(() => {
    child = Number(spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' }).stdout)
    const group = spawnSync('ps', ['-o', 'pgid=', '-p', String(child)], { encoding: 'utf8' }).stdout
    return child > 0 && Number(group) === child
  }, 50)
  t.teardown(() => { if (isRunning(child)) process.kill(child, 'SIGKILL') })
  return child
}

const withTerminal = needsProgram('script', 'bsdutils')

t.test('closing the terminal of a backup leaves no file and no process behind', withTerminal, async t => {
  const folder = await folderThatBlocks(t)
  const command = `echo pid $$; exec ${process.execPath} ${program} backup ${join(folder, 'backup.db')}`
  const variables = { PATH: process.env.PATH, SHELL: '/bin/sh', DATA_DIR: folder }
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { env: variables })
  t.teardown(() => terminal.kill('SIGKILL'))
  let shown = ''
  terminal.stdout.on('data', text => { shown += text })
  await until(() => /pid \d+/.test(shown))
  const pid = Number(/pid (\d+)/.exec(shown)?.[1])
  const child = await childOf(t, pid)
  terminal.kill('SIGKILL')
  await until(() => !isRunning(pid), 50)
  t.notOk(isRunning(child))
  t.strictSame(readdirSync(folder), ['plants.db'])
})

t.test('without a terminal, as under nohup, SIGHUP changes nothing', async t => {
  const folder = await folderThatBlocks(t)
  const variables = { PATH: process.env.PATH, DATA_DIR: folder }
  const args = [program, 'backup', join(folder, 'backup.db')]
  // The leader of a group, to which a shell sends its signals.
  const backup = spawn(process.execPath, args, { env: variables, detached: true, stdio: 'ignore' })
  const pid = backup.pid as number
  const child = await childOf(t, pid)
  process.kill(-pid, 'SIGHUP')
  await new Promise(resolve => setTimeout(resolve, 300))
  t.ok(isRunning(pid) && isRunning(child))
  t.match(partial(folder), [/^\.backup\.db\.[0-9a-f]{8}\.partial$/], 'it has the name that the documentation gives')
  backup.kill('SIGTERM')
  await until(() => !isRunning(pid), 50)
  t.notOk(isRunning(child))
  t.strictSame(readdirSync(folder), ['plants.db'])
})

t.test('SIGINT and SIGTERM end an import that waits for its input, with its counts', async t => {
  const folder = testFolder(t)
  fill(folder, [])
  const cases = [
    { signal: 'SIGTERM', file: [], input: '{"id":3,"name":"three"}\n{"id":4,', copied: 1 },
    { signal: 'SIGINT', file: ['-'], input: '', copied: 0 }
  ] as const
  await Promise.all(cases.map(async ({ signal, file, input, copied }) => {
    const importing = new Program(['import', ...file], { DATA_DIR: folder }, { input: true })
    importing.child.stdin?.write(input)
    await until(() => importing.stderr.includes('import: SQLite, '))
    await until(() => plantsInFile(join(folder, 'plants.db')).size >= copied)
    const timer = setTimeout(() => importing.child.kill('SIGKILL'), 10_000)
    const { code, stdout, stderr } = await importing.end(signal)
    clearTimeout(timer)
    t.equal(code, 1, stderr)
    t.equal(stdout, `copied ${copied}, already there 0, in conflict 0, invalid 0\n`)
    t.match(stderr, /^plant-store: interrupted: run it again$/m)
  }))
})

t.test('a MongoDB that hangs holds up an interrupted command for seconds; a second signal ends it at once', async t => {
  const folder = testFolder(t)
  const mongo = await ScriptedMongo.start(t)
  mongo.on('count', hang(), { times: 1_000 })
  const cases = [{ file: 'one', signals: 1, code: 1 }, { file: 'two', signals: 2, code: 143 }]
  await Promise.all(cases.map(async ({ file, signals, code }) => {
    const exporting = new Program(['export', join(folder, file)], { MONGODB_URL: mongo.url })
    await until(() => partial(folder).some(name => name.includes(file)))
    const sentAt = performance.now()
    for (let sent = 0; sent < signals; sent++) {
      exporting.child.kill('SIGTERM')
      await new Promise(resolve => setTimeout(resolve, 300))
    }
    t.match(await exporting.ended, { code })
    t.ok(performance.now() - sentAt < 8_000)
    t.notOk(existsSync(join(folder, file)))
  }))
  t.strictSame(readdirSync(folder), [])
})
