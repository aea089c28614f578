import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { bare, compiledPackage, documented, projectFile, startService, token } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'

const docs = readdirSync(projectFile('docs')).filter(name => name.endsWith('.md')).map(name => `docs/${name}`)
const pages = new Map(['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'bench/README.md', ...docs].map(page => [page, readFileSync(projectFile(page), 'utf8')]))
const programs = [...pages.values()].flatMap(page => [...page.matchAll(/^```[tj]s\n([^]*?)^```$/gm)].map(([, text = '']) => text))
  // Those are for mongosh, and for load generators.
  .filter(text => !/^db\.|from '(?:autocannon|k6\/http)'/.test(text))
const { PATH } = process.env
const run = (...command: string[]) => promisify(execFile)('env', bare({ PATH }, command))

/** The first program of the pages that holds a text. */
function program (text: string): string {
  const found = programs.find(program => program.includes(text))
  if (found === undefined) throw new Error(`no page has a program with ${text}`)
  return found
}

/** Writes a program as compiled code into a new folder from which `plant-store` can be imported; returns its path. */
function compiled (t: Test, code: string): string {
  const folder = mkdtempSync(join(compiledPackage, 'documentation-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'host.mjs')
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 }
  writeFileSync(path, ts.transpileModule(code, { compilerOptions }).outputText)
  return path
}

/** Runs a program of a page in its own process, on a free port, with some texts replaced; adds an `app` if needed. */
async function hostOf (t: Test, code: string, replacements: Record<string, string> = {}) {
  for (const [text, replacement] of Object.entries(replacements)) {
    if (!code.includes(text)) throw new Error(`${text} is not in\n${code}`)
    code = code.replace(text, replacement)
  }
  if (!code.includes('const app')) code = `import fastify from 'fastify'\n${code.replace(/^(?=app\.|class |const )/m, 'const app = fastify()\n')}`
  code = `${code.replace('await app.listen({ port: 3000 })', '')}\nconsole.log(await app.listen({ port: 0 }))`
  const child = spawn('env', bare({ PATH }, [process.execPath, compiled(t, code)]), { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data') as [Buffer]
  const url = line.toString().trim()
  return async (path: string, plant: object, authorization = 'Bearer an-access-token-of-yours') => {
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json', authorization }, body: JSON.stringify(plant) })
    return [answer.status, await answer.json()]
  }
}

const ficus = { id: 1, name: 'Ficus' }
t.equal(programs.length, 10, 'each program of the pages is tested here')

t.jobs = 3

t.test('the hosts with SQLite and tokens, with its own accounts, with MongoDB and with a store of its own work', async t => {
  const path = join(t.testdir(), 'plants.db')
  const mongo = await ScriptedMongo.start(t)
  const hosts: [program: string, url: string, replacements?: Record<string, string>][] = [
    ['app.listen', '/v1/plants', { 'plants.db': path }],
    ['accounts', '/plants', { 'plants.db': join(t.testdir(), 'accounts.db') }],
    ['mongoPlantStore({ client })', '/plants', { 'mongodb://127.0.0.1:27017/garden': mongo.urlOf('garden') }],
    ['class ListStore', '/plants']
  ]
  await Promise.all(hosts.map(async ([text, url, replacements]) => {
    const send = await hostOf(t, program(text), replacements)
    t.strictSame(await send(url, ficus), [200, { name: 'Ficus' }], text)
    t.strictSame(await send(url, ficus), [200, { name: 'Ficus' }], text)
    t.match(await send(url, { ...ficus, tag: 'tree' }), [400, { error: 40004 }], text)
    t.match(await send(url, ficus, 'Bearer somebody-elses-token'), [401, { error: 40102 }], text)
  }))
  t.strictSame(plantsInFile(path), new Map([[1n, { name: 'Ficus' }]]))
  t.strictSame(mongo.majority(), new Map([[1n, { name: 'Ficus' }]]))
})

for (const store of ['memoryPlantStore()', 'new ListStore()']) {
  t.test(`the store contract runs with node:test: ${store}`, async t => {
    const own = program('class ListStore')
    const proof = `${own.slice(0, own.indexOf('app.register'))}\n${program('plantStoreContract').replace('memoryPlantStore()', store)}`
    const { stdout } = await run(process.execPath, '--test-reporter=tap', compiled(t, proof))
    t.match(stdout, /^# tests 10$/m)
    t.match(stdout, /^# fail 0$/m)
    t.match(stdout, store.startsWith('new') ? /^# skipped 4$/m : /^# skipped 1$/m)
  })
}

t.test('the test of an app runs with node:test', async t => {
  const { stdout } = await run(process.execPath, '--test-reporter=tap', compiled(t, program('the app stores plants')))
  t.match(stdout, /^# pass 1$/m)
})

t.test('the subscriber to a channel works', async t => {
  const code = program('channels.batchEnd')
  const path = compiled(t, `${code}\nimport { sqlitePlantStore } from 'plant-store'
    const store = sqlitePlantStore({ path: ${JSON.stringify(join(t.testdir(), 'plants.db'))} })
    await store.create({ id: 1n, name: 'Ficus' }, performance.now() + 10_000)
    await store.close()`)
  const { stdout } = await run(process.execPath, path)
  t.match(stdout, /^1 plants in [\d.]+ ms\n$/)
})

t.test('the serializer for generated clients keeps all digits of an id', async t => {
  const { stdout } = await run(process.execPath, compiled(t, `${program('bodySerializer')}
    console.log(bodySerializer({ name: 'Ficus', id: 9223372036854775807n }))`))
  t.equal(stdout, '{"id":9223372036854775807,"name":"Ficus"}\n')
})

t.test('the client keeps all digits of an id, and retries', async t => {
  const answers = [503, 500, 'cut', 504, 200] as const
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const answer = answers[bodies.push(body) - 1] ?? 200
    if (answer === 'cut') request.socket.destroy()
    else response.writeHead(answer).end('{"name":"Monstera deliciosa"}')
  }).listen(0, '127.0.0.1')
  t.teardown(() => { server.close() })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { stdout } = await run(process.execPath, compiled(t, `${program('9223372036854775807n')}\n${program('async function createPlant')}
    const response = await createPlant('http://127.0.0.1:${port}', 'a-token', body)
    console.log(response.status, await response.text())`))
  t.equal(stdout, '200 {"name":"Monstera deliciosa"}\n')
  t.strictSame(bodies, answers.map(() => '{"id":9223372036854775807,"name":"Monstera deliciosa"}'))
})

t.test('every link on a page has a target', async t => {
  const anchorsOf = (page: string) => [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-'))
  for (const [page, text] of pages) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue
      const [file = '', anchor] = target.split('#')
      const path = file === '' ? page : join(dirname(page), file)
      t.ok(existsSync(projectFile(path)), `${page}: ${target}`)
      if (anchor !== undefined) t.ok(anchorsOf(pages.get(path) ?? '').includes(anchor), `${page}: ${target}`)
    }
  }
})

t.test('the curl command stores a plant, and prints the response in the README', async t => {
  const { address, folder } = await startService(t)
  const line = documented('curl -sS', 'README.md').replace('http://127.0.0.1:3000', address).replace('<ACCESS_TOKEN>', token)
  t.equal((await run('sh', '-c', line)).stdout, documented('{"name"', 'README.md').trim())
  t.strictSame(plantsInFile(join(folder, 'plants.db')), new Map([[1n, { name: 'Monstera deliciosa', tag: 'aroid' }]]))
})
