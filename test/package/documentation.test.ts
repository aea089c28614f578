import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { plantStoreContract } from '../../src/stores/contract.js'
import { compiledPackage, documented, projectFile, startService, token } from '../support/process/program.js'
import { ScriptedMongo } from '../support/scripted-mongodb/scripted-mongo.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'

const docs = readdirSync(projectFile('docs')).filter(name => name.endsWith('.md')).map(name => `docs/${name}`)
const paths = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'bench/README.md', ...docs]
const pages = new Map(paths.map(path => [path, readFileSync(projectFile(path), 'utf8')]))
const programs = [...pages.values()].flatMap(programsOf)
const { PATH } = process.env
const run = (program: string, ...args: string[]) => promisify(execFile)(program, args, { env: { PATH } })

function programsOf (page: string): string[] {
  const texts = [...page.matchAll(/^```[tj]s\n([^]*?)^```$/gm)].map(([, text = '']) => text)
  // Those are for mongosh, and for load generators.
  return texts.filter(text => !/^db\.|from '(?:autocannon|k6\/http)'/.test(text))
}

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

/** Runs a program in the test's process, and returns what it exports. */
async function runHere (t: Test, code: string): Promise<any> {
  return import(pathToFileURL(compiled(t, code)).href)
}

/** Runs a host of a page on a free port, with some texts replaced; adds an `app` if needed. Returns a client of it. */
async function hostOf (t: Test, code: string, replacements: Record<string, string> = {}) {
  for (const [text, replacement] of Object.entries(replacements)) {
    if (!code.includes(text)) throw new Error(`${text} is not in\n${code}`)
    code = code.replace(text, replacement)
  }
  if (!code.includes('const app')) {
    const withApp = code.replace(/^(?=app\.|class |const )/m, 'const app = fastify()\n')
    code = `import fastify from 'fastify'\n${withApp}`
  }
  code = `${code.replace('await app.listen({ port: 3000 })', '')}
    export const url = await app.listen({ port: 0 })
    export const close = async () => {
      await app.close()
      if (typeof client !== 'undefined') await client.close()
    }`
  const { url, close } = await runHere(t, code)
  t.teardown(close)
  return async (path: string, plant: object, authorization = 'Bearer an-access-token-of-yours') => {
    const headers = { 'content-type': 'application/json', authorization }
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(plant) })
    return [answer.status, await answer.json()]
  }
}

const ficus = { id: 1, name: 'Ficus' }
t.equal(programs.length, 11, 'each program of the pages is tested here')

t.jobs = 3

t.test('the hosts with SQLite, with accounts, with MongoDB and with a store of its own work', async t => {
  const path = join(t.testdir(), 'plants.db')
  const mongo = await ScriptedMongo.start(t)
  const accounts = join(t.testdir(), 'accounts.db')
  const hosts: { text: string, url: string, replacements?: Record<string, string> }[] = [
    { text: 'app.listen', url: '/v1/plants', replacements: { 'plants.db': path } },
    { text: 'accounts', url: '/plants', replacements: { 'plants.db': accounts } },
    {
      text: 'mongoPlantStore({ client })',
      url: '/plants',
      replacements: { 'mongodb://127.0.0.1:27017/garden': mongo.urlOf('garden') }
    },
    { text: 'class ListStore', url: '/plants' }
  ]
  await Promise.all(hosts.map(async ({ text, url, replacements }) => {
    const send = await hostOf(t, program(text), replacements)
    t.strictSame(await send(url, ficus), [200, { name: 'Ficus' }], text)
    t.strictSame(await send(url, ficus), [200, { name: 'Ficus' }], text)
    t.match(await send(url, { ...ficus, tag: 'tree' }), [400, { error: 40004 }], text)
    t.match(await send(url, ficus, 'Bearer somebody-elses-token'), [401, { error: 40102 }], text)
  }))
  t.strictSame(plantsInFile(path), new Map([[1n, { name: 'Ficus' }]]))
  t.strictSame(mongo.majority(), new Map([[1n, { name: 'Ficus' }]]))
})

t.test('the store contract, with two stores, and the test of an app run with node:test', async t => {
  const own = program('class ListStore')
  const contract = program('plantStoreContract')
  const contractOfOwn = `${own.slice(0, own.indexOf('app.register'))}
    ${contract.replace('memoryPlantStore()', 'new ListStore()')}`
  const files = [contract, contractOfOwn, program('the app stores plants')].map(code => compiled(t, code))
  const all = compiled(t, files.map(file => `await import(${JSON.stringify(pathToFileURL(file))})`).join('\n'))
  const { stdout } = await run(process.execPath, '--test-reporter=tap', all)
  t.match(stdout, `\n# tests ${2 * plantStoreContract.length + 1}\n`)
  t.match(stdout, /^# fail 0$/m)
  t.match(stdout, /^# skipped 5$/m, '1 with the memory store, 4 with the own one')
})

t.test('the subscriber to a channel works', async t => {
  const path = join(t.testdir(), 'plants.db')
  const lines = t.capture(console, 'log')
  await runHere(t, `${program('channels.batchEnd')}\nimport { sqlitePlantStore } from 'plant-store'
    const store = sqlitePlantStore({ path: ${JSON.stringify(path)} })
    await store.create({ id: 1n, name: 'Ficus' }, performance.now() + 10_000)
    await store.close()`)
  t.match(lines().map(({ args }) => args).join(), /1 plants in [\d.]+ ms/)
})

t.test('an app\'s own code creates a plant through a store', async t => {
  const path = join(t.testdir(), 'plants.db')
  const { outcome } = await runHere(t, `${program('const outcome').replace('plants.db', path)}\nexport { outcome }`)
  t.equal(outcome, 'stored')
  t.strictSame(plantsInFile(path), new Map([[1n, { name: 'Monstera deliciosa', tag: 'aroid' }]]))
})

t.test('the serializer for generated clients keeps all digits of an id', async t => {
  const { serialized } = await runHere(t, `${program('bodySerializer')}
    export const serialized = bodySerializer({ name: 'Ficus', id: 9223372036854775807n })`)
  t.equal(serialized, '{"id":9223372036854775807,"name":"Ficus"}')
})

t.test('the client keeps all digits of an id, and retries', async t => {
  const answers = [408, 503, 500, 'cut', 504, 200] as const
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
  const { response } = await runHere(t, `${program('9223372036854775807n')}\n${program('async function createPlant')}
    export const response = await createPlant('http://127.0.0.1:${port}', 'a-token', body)`)
  t.equal(response.status, 200)
  t.equal(await response.text(), '{"name":"Monstera deliciosa"}')
  t.strictSame(bodies, answers.map(() => '{"id":9223372036854775807,"name":"Monstera deliciosa"}'))
})

t.test('every link on a page has a target', async t => {
  const anchorOf = (heading: string) => heading.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-')
  const anchorsOf = (page: string) => [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))
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
  const command = documented('curl -sS', 'README.md')
  const line = command.replace('http://127.0.0.1:3000', address).replace('<ACCESS_TOKEN>', token)
  t.equal((await run('sh', '-c', line)).stdout, documented('{"name"', 'README.md'))
  t.strictSame(plantsInFile(join(folder, 'plants.db')), new Map([[1n, { name: 'Monstera deliciosa', tag: 'aroid' }]]))
})
