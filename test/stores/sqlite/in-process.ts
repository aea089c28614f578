import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compiledPackage } from '../../support/process/program.js'

interface Options {
  /** Of Node. */
  options?: readonly string[]
  env?: NodeJS.ProcessEnv
  /** The folder of the code of the stores. */
  source?: string
  /** A command that runs the process, such as one that changes the user. */
  runner?: readonly string[]
}

/** Runs JavaScript that can make SQLite stores, in a process of its own, for at most 20 seconds. */
export function inProcess (
  code: string, { options = [], env = {}, source = join(compiledPackage, 'src'), runner = [] }: Options = {}
) {
  const module = JSON.stringify(pathToFileURL(join(source, 'stores/sqlite/sqlite-plant-store.js')))
  const script = `const { sqlitePlantStore } = await import(${module})
    const soon = () => performance.now() + 10_000
    ${code}`
  const [command = '', ...args] = [...runner, process.execPath, ...options, '--input-type=module', '-e', script]
  return spawnSync(command, args, { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8', timeout: 20_000 })
}
