#!/usr/bin/env node
import cluster from 'node:cluster'
import { readCommand, usage, UnknownCommand } from './command.js'
import { startFault } from './start-fault.js'
import { version } from './version.js'

try {
  if (cluster.isWorker) (await import('./worker.js')).runWorker()
  else await run(readCommand(process.argv.slice(2)))
} catch (error) {
  process.stderr.write(`plant-store: ${startFault(error)}\n`)
  process.exit(error instanceof UnknownCommand ? 2 : 1)
}

async function run (command: ReturnType<typeof readCommand>): Promise<void> {
  if (command === 'help') process.stdout.write(usage)
  else if (command === 'version') process.stdout.write(`${version}\n`)
  else if (command === 'serve') await (await import('./serve.js')).serve()
  else {
    const { migrate } = await import('./migrate/migrate.js')
    process.exitCode = await migrate(process.env)
  }
}
