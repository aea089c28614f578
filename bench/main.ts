import { help, readOptions } from './plan/options.js'
import { plan } from './plan/plan.js'

/**
 * Runs the benchmark with the words of a command line.
 * @param prepare compiles what the measurements need, which a mistake in the options does not wait for
 * @returns the exit code: 2 for a mistake in the options, 1 if the run failed
 */
export async function main (words: readonly string[], prepare = async () => {}): Promise<number> {
  try {
    const options = readOptions(words)
    if (options.help) {
      console.log(help)
      return 0
    }
    const specs = plan(options)
    if (specs.length === 0) throw new TypeError('no server takes part in any --case')
    await prepare()
    const { run } = await import('./run/run.js')
    await run(specs, options, words)
    return 0
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const isMistake = error instanceof TypeError
    console.error(`${process.stderr.isTTY ? '\r\u001b[K' : ''}bench: ${message}`)
    if (isMistake) console.error('All options: npm run bench -- --help')
    return isMistake ? 2 : 1
  }
}
