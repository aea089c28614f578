import { performance } from 'node:perf_hooks'
import { messageOf } from '../../src/error-message.js'

/** A part of a run, and the seconds that it is expected to take. */
export interface Step { what: string, seconds: number, run: () => Promise<void> }

/**
 * Runs the steps one after another, and shows each with the time that is left: as expected, or longer or shorter by as
 * much as the steps so far.
 * @throws {Error} that names the step that failed
 */
export async function runSteps (steps: readonly Step[]): Promise<void> {
  const { isTTY, columns } = process.stderr
  const begin = performance.now()
  const total = steps.reduce((sum, { seconds }) => sum + seconds, 0)
  let done = 0
  for (const { what, seconds, run } of steps) {
    const pace = done === 0 ? 1 : (performance.now() - begin) / 1000 / done
    const line = `${timeText((total - done) * pace)} left: ${what}`
    process.stderr.write(isTTY ? `\r\u001b[K${line.slice(0, columns - 1)}` : `${line}\n`)
    try {
      await run()
    } catch (error) {
      throw new Error(`${what}: ${messageOf(error)}`)
    }
    done += seconds
  }
}

/** In steps that are not finer than the estimate. */
function timeText (seconds: number): string {
  const tens = Math.max(10, Math.ceil(seconds / 10) * 10)
  return tens < 60 ? `${tens} s` : `${Math.floor(tens / 60)} min ${tens % 60} s`
}
