import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { compiledPackage, projectFile } from '../project.js'
import { startService, token } from '../program.js'
import { ScriptedMongo } from '../scripted-mongodb/scripted-mongo.js'
import { plantsInFile } from '../sqlite-file.js'

const readme = readFileSync(projectFile('README.md'), 'utf8')
const blocks = [...readme.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language, text]) => ({ language, text: text as string }))
const programs = blocks.filter(({ language }) => language === 'ts').map(({ text }) => text)
const { scripts } = JSON.parse(readFileSync(projectFile('package.json'), 'utf8'))
const authorization = 'Bearer an-access-token-of-yours'
const run = promisify(execFile)

/** The one program of the README that holds a text. */
function program (text: string): string {
  const found = programs.filter(program => program.includes(text))
  if (found.length !== 1) throw new Error(`the README has ${found.length} programs with ${text}`)
  return found[0] as string
}

/** Writes a program as it would be compiled, into a folder of its own where `plant-store` is found; returns its path. */
function compiled (t: Test, code: string): string {
  const folder = join(compiledPackage, `readme-${process.pid}-${t.name.replace(/\W+/g, '-')}`)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'host.mjs')
  writeFileSync(path, ts.transpileModule(code, { compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 } }).outputText)
  return path
}

/** Runs a program of the README in a process of its own: on a free port, with other places, and an `app` where it has none. */
async function hostOf (t: Test, code: string, places: Record<string, string> = {}) {
  for (const [place, other] of Object.entries(places)) {
    if (!code.includes(place)) throw new Error(`${place} is not in\n${code}`)
    code = code.replace(place, other)
  }
  if (!code.includes('const app')) code = `import fastify from 'fastify'\n${code.replace(/^(?=app\.|class |const )/m, 'const app = fastify()\n')}`
  code = `${code.replace('await app.listen({ port: 3000 })', '')}\nconsole.log(await app.listen({ port: 0 }))`
  const child = spawn(process.execPath, [compiled(t, code)], { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data') as [Buffer]
  const url = line.toString().trim()
  return async (path: string, plant: object, headers = { authorization }) => {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(plant) })
    return [answer.status, await answer.json()]
  }
}

const ficus = { id: 1, name: 'Ficus' }
const stored = [200, { name: 'Ficus' }]
const unknown = { authorization: 'Bearer somebody-elses-token' }

t.jobs = 3

t.test('the host of five lines', async t => {
  const path = join(t.testdir(), 'plants.db')
  t.ok(program('app.listen').includes('port: 3000'))
  const send = await hostOf(t, program('app.listen'), { 'plants.db': path })
  t.strictSame(await send('/v1/plants', ficus), stored)
  t.match(await send('/v1/plants', ficus, unknown), [401, { error: 40102 }])
  t.strictSame(plantsInFile(path), new Map([[1n, { name: 'Ficus' }]]))
})

t.test('a host with accounts of its own', async t => {
  const send = await hostOf(t, program('accounts'), { 'plants.db': join(t.testdir(), 'plants.db') })
  t.strictSame(await send('/plants', ficus), stored)
  t.match(await send('/plants', ficus, unknown), [401, { error: 40102 }])
})

t.test('a host with MongoDB', async t => {
  const mongo = await ScriptedMongo.start(t)
  const send = await hostOf(t, program('mongoPlantStore({ client })'), { 'mongodb://127.0.0.1:27017/garden': mongo.urlOf('garden') })
  t.strictSame(await send('/plants', ficus), stored)
  t.strictSame(mongo.majority(), new Map([[1n, { name: 'Ficus' }]]))
})

t.test('a store of one\'s own', async t => {
  const send = await hostOf(t, program('class MemoryPlantStore'))
  t.strictSame(await send('/plants', ficus), stored)
  t.strictSame(await send('/plants', ficus), stored)
  t.match(await send('/plants', { ...ficus, tag: 'tree' }), [400, { error: 40004 }])
})

t.test('its proof, by node:test', async t => {
  const own = program('class MemoryPlantStore')
  const proof = `${own.slice(0, own.indexOf('app.register'))}\n${program('plantStoreContract')}`
  const { stdout } = await run(process.execPath, ['--test-reporter=tap', compiled(t, proof)], { env: { PATH: process.env.PATH } })
  t.match(stdout, /^# tests 11$/m)
  t.match(stdout, /^# fail 0$/m)
  t.match(stdout, /^# skipped 6$/m)
})

t.test('every program of the README is one of these', async t => {
  t.equal(programs.length, 5)
})

t.test('every command of the README is one that there is', async t => {
  const commands = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.trim().split('\n'))
  t.ok(commands.length > 5)
  for (const command of commands) {
    const [, script] = /^(?:[A-Z_]+='[^']*' )?npm (?:run )?([a-z:]+)(?: -- --help)?$/.exec(command) ?? []
    t.ok(/^curl -sS http:/.test(command) || script === 'ci' || Object.hasOwn(scripts, script ?? ''), command)
  }
  for (const [, script] of readme.matchAll(/`npm run ([a-z:]+)/g)) t.ok(Object.hasOwn(scripts, script as string), script as string)
})

t.test('the curl line creates a plant, and shows what the README says', async t => {
  const { address, folder } = await startService(t)
  const { text } = blocks.find(({ text }) => text.startsWith('curl')) as { text: string }
  const answer = blocks.find(({ language }) => language === 'json')?.text.trim()
  const line = text.replace('http://127.0.0.1:3000', address).replace('<ACCESS_TOKEN>', token)
  const { stdout } = await run('sh', ['-c', line])
  t.equal(stdout, answer)
  t.strictSame(plantsInFile(join(folder, 'plants.db')), new Map([[1n, { name: 'Monstera deliciosa', tag: 'aroid' }]]))
})
