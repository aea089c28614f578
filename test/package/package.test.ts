import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync
} from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { projectFile } from '../support/process/program.js'
import { until } from '../support/until.js'

const manifest = JSON.parse(readFileSync(projectFile('package.json'), 'utf8'))
const { PATH, HOME } = process.env
const run = (cwd: string, program: string, ...args: string[]) => {
  return promisify(execFile)(program, args, { cwd, env: { PATH, HOME } })
}

// A copy of the sources, where the package is packed as for the registry, and a host, where it is installed.
const work = mkdtempSync(join(tmpdir(), 'plant-store-package-'))
const host = join(work, 'host')
const installed = join(host, 'node_modules', 'plant-store')

async function packAndInstall (): Promise<void> {
  const files = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'README.md', 'LICENSE', 'CHANGELOG.md']
  const linked = ['CONTRIBUTING.md', 'SECURITY.md', 'bench/README.md', 'bench/published', 'compose.yaml']
  for (const file of [...files, ...linked, 'docs', 'src']) {
    cpSync(projectFile(file), join(work, file), { recursive: true })
  }
  // The host and the installed package also resolve their dependencies here.
  symlinkSync(projectFile('node_modules'), join(work, 'node_modules'))
  // Only its emit: the whole project's types have been checked.
  await run(work, process.execPath, 'node_modules/typescript7/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck')
  await run(work, 'npm', 'pack', '--ignore-scripts')
  mkdirSync(join(host, 'node_modules'), { recursive: true })
  writeFileSync(join(host, 'package.json'), '{ "name": "host" }')
  await run(host, 'tar', '-xzf', join(work, `plant-store-${manifest.version}.tgz`))
  cpSync(join(host, 'package'), installed, { recursive: true })
}

/** The paths of all files in a folder, sorted. */
function filesOf (folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true, encoding: 'utf8' })
  const files = entries.filter(entry => entry.isFile())
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).sort()
}

async function evaluate (code: string, ...options: string[]): Promise<unknown> {
  return JSON.parse((await run(host, process.execPath, ...options, '-e', code)).stdout)
}

t.teardown(() => rmSync(work, { recursive: true }))
t.before(packAndInstall)
t.jobs = 4

t.test('import and require return the plugin, the stores and the errors', async t => {
  const names = [
    'ErrorSchema', 'NewPlantSchema', 'PlantNotStored', 'PlantOutcomeUnknown', 'PlantSchema', 'StoreUnusable',
    'channels', 'default', 'errorCodes', 'memoryPlantStore', 'mongoPlantStore', 'sqlitePlantStore'
  ]
  const imported = 'const all = [await import("plant-store"), await import("plant-store/contract")]'
  const print = `
    const namesOf = one => Object.keys(one).filter(name => name !== '__esModule').sort()
    console.log(JSON.stringify(all.map(namesOf)))`
  t.strictSame(await evaluate(`${imported}; ${print}`, '--input-type=module'), [names, ['plantStoreContract']])
  const register = `
    const app = require('fastify')()
    const store = { create: async () => 'stored' }
    app.register(all[0], { prefix: '/v1', store, tokens: ['an-access-token-of-yours'] })
    app.inject({
      method: 'POST',
      url: '/v1/plants',
      payload: { id: 1, name: 'Ficus' },
      headers: { authorization: 'Bearer an-access-token-of-yours' }
    }).then(({ body }) => { all.push(JSON.parse(body)); ${print} })`
  const required = await evaluate(`const all = [require("plant-store")]; ${register}`)
  t.strictSame(required, [names, ['name']], 'a host can register it')
})

t.test('an embedded plugin loads no module that only the program needs', async t => {
  const folder = join(work, 'loaded')
  const code = "import { sqlitePlantStore } from 'plant-store'; sqlitePlantStore({ path: 'plants.db' })"
  await run(host, 'env', `NODE_V8_COVERAGE=${folder}`, process.execPath, '--input-type=module', '-e', code)
  const loaded = readdirSync(folder).map(file => readFileSync(join(folder, file), 'utf8')).join()
  t.match(loaded, '/bearer-auth/index.js')
  t.notMatch(loaded, /\/dist\/service\//)
  const ofThePlugin = /bearer-auth|json-stringify|typebox|fastify-plugin|secure-json/
  const others = [...Object.keys(manifest.dependencies), 'fastify', 'mongodb'].filter(name => !ofThePlugin.test(name))
  for (const name of others) t.notMatch(loaded, `/node_modules/${name}/`)
})

t.test('importing a source has no effect, except for those that package.json names', async t => {
  const sources = filesOf(join(installed, 'dist')).filter(path => path.endsWith('.js')).map(path => `./dist/${path}`)
  const { sideEffects } = manifest as { sideEffects: string[] }
  t.strictSame(sideEffects.filter(path => !sources.includes(path)), [])
  const others = sources.filter(path => !sideEffects.includes(path))
  const code = `
    for (const source of ${JSON.stringify(others)}) await import('./node_modules/plant-store/' + source)
    console.log(JSON.stringify(process.getActiveResourcesInfo()))`
  const left = await evaluate(code, '--input-type=module') as string[]
  const expected = /^(CloseReq|FSReq|PipeWrap)/
  t.strictSame(left.filter(resource => !expected.test(resource)), [], 'no timer, socket or thread is left')
})

t.test('the package contains the compiled code, the types of its exports, and the pages', async t => {
  const sources = filesOf(projectFile('src')).filter(file => file.endsWith('.ts')).map(file => file.slice(0, -3))
  const compiled = sources.map(source => `dist/${source}.js`)
  const types = sources.filter(source => !source.startsWith('service/')).map(source => `dist/${source}.d.ts`)
  const pages = filesOf(projectFile('docs')).map(file => `docs/${file}`)
  const pictures = filesOf(projectFile('bench/published')).filter(file => file.endsWith('.svg'))
  const others = [
    'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md', 'bench/README.md', 'compose.yaml',
    'package.json', ...pictures.map(file => `bench/published/${file}`)
  ]
  t.strictSame(filesOf(installed), [...compiled, ...types, ...pages, ...others].sort())
})

t.test('the links of the README and of the pages lead to files of the package', async t => {
  const pages = filesOf(installed).filter(file => file === 'README.md' || /^docs\/.*\.md$/.test(file))
  t.ok(pages.length > 5)
  for (const page of pages) {
    const text = readFileSync(join(installed, page), 'utf8')
    for (const [, target = ''] of text.matchAll(/(?:\]\(|(?:src|srcset|href)=")([^)"\s#]+)/g)) {
      if (!/^https?:/.test(target)) t.ok(existsSync(join(installed, dirname(page), target)), `${page}: ${target}`)
    }
  }
})

t.test('the types of the exports need no package that a host may lack', async t => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = manifest
  const always = [...Object.keys(dependencies), ...Object.keys(peerDependencies)]
    .filter(name => peerDependenciesMeta[name]?.optional !== true)
  const files = new Set([manifest.types, manifest.exports['./contract'].types])
  for (const file of files) {
    const text = readFileSync(join(installed, file), 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:from |import\()['"](.+?)['"]/g)) {
      if (name.startsWith('.')) files.add(join(dirname(file), name.replace(/\.js$/, '.d.ts')))
      else t.ok(isBuiltin(name) || always.includes(name), `${file}: ${name}`)
    }
  }
  t.ok(files.size > 5)
})

t.test('a store of another copy of the package, and TypeBox of its own, work', async t => {
  // As npm installs it beside another version of TypeBox, and as `npm link` or a workspace does.
  const copy = join(work, 'copies', 'node_modules', 'plant-store')
  cpSync(installed, copy, { recursive: true })
  const nested = join(copy, 'node_modules', '@sinclair', 'typebox')
  cpSync(projectFile('node_modules/@sinclair/typebox'), nested, { recursive: true })
  const answers = await evaluate(`
    import fastify from 'fastify'
    import { memoryPlantStore, PlantNotStored, PlantOutcomeUnknown } from 'plant-store'
    import plantStore from '../copies/node_modules/plant-store/dist/index.js'
    import { plantStoreContract } from '../copies/node_modules/plant-store/dist/stores/contract.js'
    const store = memoryPlantStore()
    const errors = [new PlantNotStored('full'), new PlantOutcomeUnknown('slow')]
    const create = async plant => {
      if (plant.id < 2n) throw errors[plant.id]
      return store.create(plant)
    }
    const app = fastify()
    app.register(plantStore, { store: { create }, tokens: ['an-access-token-of-yours'] })
    const headers = { authorization: 'Bearer an-access-token-of-yours' }
    const answers = []
    for (const id of [0, 1, 2]) {
      const payload = { id, name: 'Ficus' }
      const { statusCode } = await app.inject({ method: 'POST', url: '/plants', payload, headers })
      answers.push(statusCode)
    }
    for (const { check } of plantStoreContract) await check(() => ({ store: memoryPlantStore() }))
    console.log(JSON.stringify(answers))`, '--input-type=module')
  t.strictSame(answers, [503, 504, 200])
})

t.test('the example app stores what its hook makes of a plant, and documents the route', async t => {
  cpSync(projectFile('docs/examples/app.js'), join(host, 'app.mjs'))
  const app = spawn(process.execPath, [join(host, 'app.mjs')], { cwd: t.testdir(), env: { PATH, PORT: '0' } })
  t.teardown(() => app.kill('SIGKILL'))
  let log = ''
  app.stdout.on('data', text => { log += text })
  const ended = once(app, 'exit')
  await until(() => log.includes('Server listening at'))
  const [, address = ''] = /Server listening at ([^"]*)"/.exec(log) ?? []

  const headers = { authorization: 'Bearer an-access-token-of-yours', 'content-type': 'application/json' }
  const body = JSON.stringify({ id: 1, name: ' Ficus ' })
  const created = await fetch(`${address}/v1/plants`, { method: 'POST', headers, body })
  t.strictSame([created.status, await created.json()], [200, { name: 'Ficus' }])
  t.equal((await fetch(`${address}/v1/plants`, { method: 'POST', body })).status, 401)
  t.equal((await fetch(address)).url, `${address}/docs`)
  const { paths } = await (await fetch(`${address}/docs/json`)).json() as any
  t.match(paths['/v1/plants'].post.responses, { 200: {}, 400: {}, 503: {} })
  app.kill('SIGTERM')
  t.strictSame(await ended, [0, null], 'it closes its store')
})

t.test('every imported package is a declared dependency', async t => {
  const files = filesOf(join(installed, 'dist')).filter(file => file.endsWith('.js'))
  const code = files.map(file => readFileSync(join(installed, 'dist', file), 'utf8')).join('\n')
  const packages = /(?:^import |from |import\(|require\()['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)/gm
  const imported = [...code.matchAll(packages)].map(([, name = '']) => name)
  t.ok(imported.includes('fastify') && imported.includes('@sinclair/typebox'))
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies }
  const undeclared = imported.filter(name => !isBuiltin(name) && !Object.hasOwn(declared, name))
  // A built-in module since Node 22.
  t.strictSame(undeclared.filter(name => name !== 'node:sqlite'), [])
})

t.test('every path in package.json exists, and the command works as npm installs it', async t => {
  const { exports, bin } = manifest
  const exported = [exports['.'], exports['./contract']].flatMap(conditions => Object.values<string>(conditions))
  const paths: string[] = [...exported, bin['plant-store']]
  for (const path of paths) t.ok(existsSync(join(installed, path)), path)
  const command = join(installed, bin['plant-store'])
  chmodSync(command, 0o755)
  const link = join(host, 'node_modules', 'plant-store-command')
  symlinkSync(command, link)
  t.equal((await run(host, link, '--version')).stdout, `${manifest.version}\n`)
  t.match((await run(host, link, '--help')).stdout, /Usage: plant-store/)
})
