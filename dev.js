// npm run dev: compiles the sources on each change, and restarts the service with the same token.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'

const compiler = spawn(process.execPath, [
  'node_modules/typescript7/bin/tsc', '-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'
], { stdio: ['ignore', 'pipe', 'inherit'] })
compiler.stdout.pipe(process.stdout)

// Not before everything is compiled: each file that is written would restart the service.
compiler.stdout.on('data', startOnce)

function startOnce (output) {
  if (!String(output).includes('Watching for file changes')) return
  compiler.stdout.off('data', startOnce)
  const service = spawn(process.execPath, ['--watch', '--watch-preserve-output', 'dist/commands/main.js'], {
    stdio: 'inherit',
    env: { PLANT_STORE_DEV_TOKEN: randomBytes(24).toString('base64url'), ...process.env }
  })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => { service.kill(signal) })
  // A terminal sends it to the service, too.
  process.on('SIGINT', () => {})
  service.on('exit', code => {
    compiler.kill()
    process.exitCode = code ?? 1
  })
}
