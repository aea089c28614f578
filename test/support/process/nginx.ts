import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { closedPort } from './lasting-port.js'
import { needsProgram } from './needs.js'
import { testFolder } from './program.js'
import { projectFile } from './project.js'

/** The options of tests that need nginx. */
export const withNginx = needsProgram('nginx', 'nginx-light')

/**
 * Starts nginx with docs/deploy/nginx.conf in front of two services.
 * @param servers two addresses in the form of an upstream's `server`: `host:port` or `unix:/path`
 * @returns its URL
 */
export async function startNginx (t: Test, servers: readonly [string, string]): Promise<string> {
  const folder = testFolder(t)
  const port = await closedPort()
  let configuration = readFileSync(projectFile('docs/deploy/nginx.conf'), 'utf8')
  for (const [from, to] of [['plants1:3000', servers[0]], ['plants2:3000', servers[1]], ['listen 80;', `listen 127.0.0.1:${port};`]] as const) {
    if (configuration.split(from).length !== 2) throw new Error(`docs/deploy/nginx.conf must have ${from} once`)
    configuration = configuration.replace(from, to)
  }
  writeFileSync(join(folder, 'plant-store.conf'), configuration)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(kind => `${kind}_temp_path ${join(folder, kind)};`)
  writeFileSync(join(folder, 'nginx.conf'), `
    daemon off; pid ${join(folder, 'pid')}; error_log ${join(folder, 'error.log')} warn; ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {}
    http { access_log off; ${temporary.join(' ')} include ${join(folder, 'plant-store.conf')}; }`)
  const nginx = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(async () => {
    nginx.kill('SIGTERM')
    if (nginx.exitCode === null) await once(nginx, 'exit')
  })
  while (!await listens(port)) {
    if (nginx.exitCode !== null) throw new Error(`nginx exited with ${nginx.exitCode}`)
    await sleep(20)
  }
  return `http://127.0.0.1:${port}`
}

async function listens (port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const answer = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'close').then(() => false)]).catch(() => false)
  socket.destroy()
  return answer
}
