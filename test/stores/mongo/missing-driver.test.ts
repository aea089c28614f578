import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { bare, compiledPackage, projectFile, testFolder } from '../../support/process/program.js'

const MISSING = 'the package mongodb is not installed: run npm install mongodb'

// Outside of the project's folder, from which no mongodb is found.
const folder = testFolder(t)
cpSync(join(compiledPackage, 'src'), join(folder, 'dist'), { recursive: true })
cpSync(join(compiledPackage, 'package.json'), join(folder, 'package.json'))
mkdirSync(join(folder, 'node_modules'))
for (const name of readdirSync(projectFile('node_modules'))) {
  if (name !== 'mongodb') symlinkSync(projectFile(join('node_modules', name)), join(folder, 'node_modules', name))
}

t.test('without the package mongodb, each command that needs it says in one line what to install', async t => {
  const env = { PATH: process.env.PATH, MONGODB_URL: 'mongodb://127.0.0.1:1/', ACCESS_TOKENS: 'a-token-for-the-service' }
  for (const command of ['serve', 'export', 'import']) {
    const args = bare(env, [process.execPath, join(folder, 'dist/commands/main.js'), command])
    const { status, stdout, stderr } = spawnSync('env', args, { encoding: 'utf8', input: '' })
    const lines = `plant-store: MONGODB_URL cannot be used: ${MISSING}\n`
    t.strictSame({ status, stdout, stderr }, { status: 1, stdout: '', stderr: lines }, command)
  }
})

t.test('without the package mongodb, a store made from a URL says what to install', async t => {
  const path = join(folder, 'dist/stores/mongo/mongo-plant-store.js')
  const { mongoPlantStore } = await import(pathToFileURL(path).href)
  t.throws(() => mongoPlantStore({ url: 'mongodb://127.0.0.1:1/' }), { message: MISSING })
})
