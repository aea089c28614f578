import { Writable } from 'node:stream'
import { backup } from '../../src/service/commands/backup.js'
import { readCommand } from '../../src/service/commands/command-line.js'
import { exportPlants } from '../../src/service/commands/export.js'
import { importPlants, migrate } from '../../src/service/commands/import-and-migrate.js'
import { messageOf } from '../../src/error-message.js'

const commands = { export: exportPlants, import: importPlants, backup, migrate }

/** Collects what is written. */
class Output extends Writable {
  text = ''

  constructor (readonly isTTY: boolean) {
    super()
  }

  override _write (chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

/** Runs a command in this process, which costs a tenth of a process of its own; reports an error as `main.ts` does. */
export async function runHere (
  args: readonly string[], env: NodeJS.ProcessEnv,
  { signal: interruption = new AbortController().signal, isTTY = false }: { signal?: AbortSignal, isTTY?: boolean } = {}
): Promise<{ code: number, stdout: string, stderr: string }> {
  const { name, ...options } = readCommand(args)
  const stdout = new Output(isTTY)
  const stderr = new Output(isTTY)
  let code: number
  try {
    code = await commands[name as keyof typeof commands]({ name, ...options }, { env, stdout, stderr, interruption })
  } catch (error) {
    code = 1
    stderr.write(`plant-store: ${interruption.aborted ? 'interrupted' : messageOf(error)}\n`)
  }
  return { code, stdout: stdout.text, stderr: stderr.text }
}
