import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { needsProgram } from '../support/process/needs.js'
import { program, testFolder, token } from '../support/process/program.js'
import { until } from '../support/until.js'

export const withScript = needsProgram('script', 'bsdutils')

/** Starts a command on a terminal, which script(1) makes; its process writes its id first. */
export function startOnTerminal (t: Test, command: string, env: NodeJS.ProcessEnv = { ACCESS_TOKENS: token }) {
  const variables = { PATH: process.env.PATH, DATA_DIR: testFolder(t), PORT: '0', TERM: 'xterm', ...env }
  const terminal = spawn('script', ['-qec', `echo pid $$; ${command}`, '/dev/null'], { env: variables })
  t.teardown(() => terminal.kill('SIGKILL'))
  let text = ''
  terminal.stdout.on('data', chunk => { text += chunk })
  return { closed: once(terminal, 'close'), terminal, shown: () => text }
}

/** Starts the service on a terminal, and waits until it is ready. */
export async function serviceOnTerminal (t: Test, env?: NodeJS.ProcessEnv, nodeOptions = '') {
  const started = startOnTerminal(t, `exec ${process.execPath} ${nodeOptions} ${program}`, env)
  await until(() => started.shown().includes('ready at'))
  const pid = Number(/pid (\d+)/.exec(started.shown())?.[1])
  t.teardown(() => { try { process.kill(pid, 'SIGKILL') } catch {} })
  return { ...started, pid }
}
