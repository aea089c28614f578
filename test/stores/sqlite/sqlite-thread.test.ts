import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { compiledPackage, projectFile, testFolder } from '../../support/process/program.js'
import { plantsInFile } from '../../support/stores/sqlite-file.js'
import { inProcess } from './in-process.js'

t.test('a script that never closes its store waits for its requests, then ends, and its file is closed', async t => {
  const folder = t.testdir()
  const { status, stdout, stderr } = inProcess(`
    const store = sqlitePlantStore({ path: ${JSON.stringify(join(folder, 'plants.db'))} })
    await store.open()
    for (let id = 1n; id <= 3n; id++) console.log(await store.create({ id, name: 'Ficus' }, soon()))`)
  t.strictSame({ status, stdout, stderr }, { status: 0, stdout: 'stored\nstored\nstored\n', stderr: '' })
  t.strictSame(readdirSync(folder), ['plants.db'], 'no log is left')
  t.equal(plantsInFile(join(folder, 'plants.db')).size, 3)
})

t.test('a script whose store cannot be opened ends too', async t => {
  const { status, stdout } = inProcess(`
    const store = sqlitePlantStore({ path: ${JSON.stringify(t.testdir())} })
    console.log(await store.open().catch(error => error.name))
    console.log(await store.create({ id: 1n, name: 'Ficus' }, soon()).catch(error => error.name))`)
  t.strictSame({ status, stdout }, { status: 0, stdout: 'StoreUnusable\nPlantNotStored\n' })
})

t.test('a test runner ends though another plugin of its app fails at the start, and closes nothing', async t => {
  const folder = testFolder(t)
  const index = JSON.stringify(pathToFileURL(join(compiledPackage, 'src/index.js')))
  const path = JSON.stringify(join(folder, 'plants.db'))
  const fastify = JSON.stringify(import.meta.resolve('fastify'))
  writeFileSync(join(folder, 'app.test.mjs'), `
    import { test } from 'node:test'
    const { default: fastify } = await import(${fastify})
    const { default: plantStore, sqlitePlantStore } = await import(${index})
    test('the app starts', async () => {
      const app = fastify()
      app.register(plantStore, { store: sqlitePlantStore({ path: ${path} }), tokens: ['a-token-of-16-characters'] })
      app.register(async () => { throw new Error('another plugin') })
      await app.ready()
    })`)
  const options = { env: {}, encoding: 'utf8', timeout: 20_000, killSignal: 'SIGKILL' } as const
  const { status, stdout } = spawnSync(process.execPath, ['--test', join(folder, 'app.test.mjs')], options)
  t.equal(status, 1)
  t.match(stdout, /another plugin/)
})

t.test('a timer that a preload starts in each thread keeps neither the store nor the process from ending', async t => {
  const folder = t.testdir({ 'preload.cjs': 'setInterval(() => {}, 1_000)' })
  const env = { NODE_OPTIONS: `--require ${join(folder, 'preload.cjs')}` }
  const { status, stdout, stderr } = inProcess(`
    const store = sqlitePlantStore({ path: ${JSON.stringify(join(folder, 'plants.db'))} })
    console.log(await store.create({ id: 1n, name: 'Ficus' }, soon()))
    await store.close()
    console.log('closed')
    process.exit()`, { env })
  t.strictSame({ status, stdout, stderr }, { status: 0, stdout: 'stored\nclosed\n', stderr: '' })
  t.strictSame(readdirSync(folder).sort(), ['plants.db', 'preload.cjs'])
})

t.test('a preload that ends each thread makes the store unusable at once', async t => {
  const folder = t.testdir({
    'preload.cjs': "if (!require('node:worker_threads').isMainThread) process.exit(3)"
  })
  const { stdout } = inProcess(`
    const store = sqlitePlantStore({ path: ${JSON.stringify(join(folder, 'plants.db'))} })
    console.log(await store.open().catch(error => error.name + ': ' + error.message))`,
  { env: { NODE_OPTIONS: `--require ${join(folder, 'preload.cjs')}` } })
  t.equal(stdout, 'StoreUnusable: SQLite: the database thread exited before it had opened the file\n')
})

const bindings: { what: string, files?: Record<string, Record<string, string>>, reason: RegExp }[] = [
  { what: 'is not installed', reason: /Cannot find package '@photostructure\/sqlite'/ },
  {
    what: 'is of another platform',
    files: {
      sqlite: {
        'package.json': '{ "name": "@photostructure/sqlite", "type": "commonjs", "main": "index.js" }',
        'index.js': 'throw new Error("No native build was found for platform=win32\\n    loaded from: /app")'
      }
    },
    reason: /No native build was found for platform=win32 loaded from/
  }
]

// Later versions of Node have SQLite of their own.
for (const { what, files, reason } of isBuiltin('node:sqlite') ? [] : bindings) {
  t.test(`on Node 20, a binding that ${what} makes the store unusable at once, and the message says what to install`,
    async t => {
      const folder = testFolder(t)
      cpSync(join(compiledPackage, 'src'), join(folder, 'src'), { recursive: true })
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
      mkdirSync(join(folder, 'node_modules'))
      const bindings = join(folder, 'node_modules/@photostructure')
      if (files !== undefined) cpSync(t.testdir(files), bindings, { recursive: true })
      for (const name of readdirSync(projectFile('node_modules')).filter(name => name !== '@photostructure')) {
        symlinkSync(projectFile(join('node_modules', name)), join(folder, 'node_modules', name))
      }
      const { status, stdout } = inProcess(`
        const store = sqlitePlantStore({ path: ${JSON.stringify(join(folder, 'plants.db'))} })
        console.log(await store.open().catch(error => error.name + ': ' + error.message))
        const outcome = await store.create({ id: 1n, name: 'Ficus' }, soon()).catch(error => error)
        console.log(outcome.name, outcome.permanent)`, { source: join(folder, 'src') })
      const [unusable, create, ...more] = stdout.split('\n')
      t.equal(status, 0)
      t.match(unusable, /^StoreUnusable: SQLite: .*run npm install @photostructure\/sqlite/)
      t.match(unusable, reason)
      t.strictSame([create, ...more], ['PlantNotStored true', ''])
    })
}

t.test('under Node\'s permission model, the store says what to allow', async t => {
  const isStable = process.allowedNodeEnvironmentFlags.has('--permission')
  const permission = isStable ? '--permission' : '--experimental-permission'
  const folder = t.testdir()
  const script = `
    const store = sqlitePlantStore({ path: ${JSON.stringify(join(folder, 'plants.db'))} })
    console.log(await store.open().catch(error => error.name + ': ' + error.message))
    await store.close()`
  const { stdout } = inProcess(script, { options: [permission, '--allow-fs-read=*'] })
  t.match(stdout, /^StoreUnusable: SQLite: no thread for the database could be started: /)
  t.match(stdout, 'start Node with --allow-worker, with --allow-fs-read for the code, and with --allow-fs-read and ' +
    `--allow-fs-write for ${folder}`)
})
