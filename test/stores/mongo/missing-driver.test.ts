import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { bare, compiledPackage, projectFile, testFolder } from '../../support/process/program.js'

/** The package and all that it needs but mongodb, outside of the project's folder, in which it would be found. */
function packageWithoutDriver (t: Test): string {
  const folder = testFolder(t)
  cpSync(join(compiledPackage, 'src'), join(folder, 'dist'), { recursive: true })
  cpSync(join(compiledPackage, 'package.json'), join(folder, 'package.json'))
  mkdirSync(join(folder, 'node_modules'))
  for (const name of readdirSync(projectFile('node_modules'))) {
    if (name !== 'mongodb') symlinkSync(projectFile(join('node_modules', name)), join(folder, 'node_modules', name))
  }
  return join(folder, 'dist')
}

t.test('without the package mongodb, commands and stores say in one line what to install', async t => {
  const missing = 'the package mongodb is not installed: run npm install mongodb'
  const dist = packageWithoutDriver(t)
  const url = 'mongodb://127.0.0.1:1/'
  const { mongoPlantStore } = await import(pathToFileURL(join(dist, 'stores/mongo/mongo-plant-store.js')).href)
  t.throws(() => mongoPlantStore({ url }), { message: missing })
  for (const command of ['export', 'import']) {
    const run = [process.execPath, join(dist, 'commands/main.js'), command]
    const args = bare({ PATH: process.env.PATH, MONGODB_URL: url }, run)
    const { status, stdout, stderr } = spawnSync('env', args, { encoding: 'utf8', input: '' })
    const line = `plant-store: MONGODB_URL cannot be used: ${missing}\n`
    t.strictSame({ status, stdout, stderr }, { status: 1, stdout: '', stderr: line }, command)
  }
})
