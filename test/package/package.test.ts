import { execFile } from 'node:child_process'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { compiledPackage as folder, projectFile } from '../project.js'

/** The package as it is compiled. Here it is also found by its name, as in a host's node_modules. */
const manifest = JSON.parse(readFileSync(projectFile('package.json'), 'utf8'))
const run = promisify(execFile)
// Compiled files would count as sources of their own in the tests' coverage.
const bare = { cwd: folder, env: { PATH: process.env.PATH, HOME: process.env.HOME } }

async function evaluate (code: string, ...options: string[]): Promise<unknown> {
  return JSON.parse((await run(process.execPath, [...options, '-e', code], bare)).stdout)
}

t.jobs = 4

t.test('import and require give the plugin, the stores and the errors', async t => {
  const names = ['PlantNotStored', 'PlantPerhapsStored', 'StoreUnusable', 'default', 'mongoPlantStore', 'sqlitePlantStore']
  t.strictSame(await evaluate('console.log(JSON.stringify(Object.keys(await import("plant-store")).sort()))', '--input-type=module'), names)
  t.strictSame(await evaluate('console.log(JSON.stringify(Object.keys(require("plant-store")).filter(name => name !== "__esModule").sort()))'), names)
  t.strictSame(await evaluate('console.log(JSON.stringify(Object.keys(await import("plant-store/contract"))))', '--input-type=module'), ['plantStoreContract'])
})

t.test('a host that requires it may register it as it is', async t => {
  const code = `
    const plantStore = require('plant-store')
    const app = require('fastify')()
    app.register(plantStore, { prefix: '/v1', store: { create: async () => 'stored' }, tokens: ['an-access-token-of-yours'] })
    app.inject({ method: 'POST', url: '/v1/plants', payload: { id: 1, name: 'Ficus' }, headers: { authorization: 'Bearer an-access-token-of-yours' } })
      .then(({ body }) => { console.log(body) })`
  t.strictSame(await evaluate(code), { name: 'Ficus' })
})

t.test('nothing else can be imported', async t => {
  for (const path of ['dist/index.js', 'dist/server/main.js', 'package']) {
    await t.rejects(evaluate(`await import("plant-store/${path}")`, '--input-type=module'), /ERR_PACKAGE_PATH_NOT_EXPORTED/, path)
  }
})

t.test('what only the server needs is not loaded when it is embedded', async t => {
  const script = join(folder, `embedded-modules-${process.pid}.mjs`)
  cpSync(projectFile('test/package/embedded-modules.mjs'), script)
  const { stdout } = await run(process.execPath, [script], bare)
  const modules = JSON.parse(stdout) as string[]
  t.ok(modules.some(url => url.endsWith('/dist/index.js')) && modules.some(url => url.endsWith('/fastify/fastify.js')), 'it sees what is loaded')
  t.strictSame(modules.filter(url => url.includes('/dist/server/')), [])
  // pino is Fastify's too.
  const used = ['fastify', 'pino', '@fastify/bearer-auth', '@fastify/type-provider-typebox', '@photostructure/sqlite', '@sinclair/typebox', 'mongodb', 'secure-json-parse']
  for (const name of Object.keys(manifest.dependencies)) {
    if (!used.includes(name)) t.strictSame(modules.filter(url => url.includes(`/node_modules/${name}/`)), [], name)
  }
})

t.test('the package holds what is compiled, and nothing else', async t => {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], bare)
  const [{ files, unpackedSize }] = JSON.parse(stdout) as [{ files: { path: string }[], unpackedSize: number }]
  const strange = files.map(({ path }) => path).filter(path => !/^(?:dist\/(?:[a-z-]+\/)*[a-z-]+\.js|package\.json|README\.md|LICENSE)$/.test(path))
  t.strictSame(strange, [])
  t.ok(unpackedSize < 400_000, `${unpackedSize} bytes`)
})

t.test('what package.json points at is there, and the command starts as one', async t => {
  const { exports, bin, sideEffects, engines } = manifest
  const paths: string[] = [exports['.'].default, exports['./contract'].default, bin['plant-store'], ...sideEffects]
  for (const path of paths) t.ok(existsSync(join(folder, path)), path)
  t.match(readFileSync(join(folder, bin['plant-store']), 'utf8'), /^#!\/usr\/bin\/env node\n/)
  t.equal(exports['.'].types, './dist/index.d.ts')
  t.equal(engines.node, '^20.19.0 || ^22.12.0 || >=24.0.0', 'those that can require() an ES module')
})
