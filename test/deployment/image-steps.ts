/*
 * Follows the Dockerfile in a folder, without Docker and with the Node that runs this script, then starts the resulting
 * service: `node build/test/deployment/image-steps.js`. This checks that the image contains every file it needs.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { closedPort } from '../support/process/lasting-port.js'

const folder = mkdtempSync(join(tmpdir(), 'plant-store-image-'))
const instructions = readFileSync('Dockerfile', 'utf8').replace(/^#.*\n/gm, '').replace(/\\\n/g, ' ').trim().split(/\n+/)
  .map(line => /^([A-Z]+) +(.*)$/.exec(line) ?? [])
const word = (name: string, stage = instructions) => JSON.parse(stage.find(([, instruction]) => instruction === name)?.[2]?.replace(/.*?(?=\[)/, '') ?? '[]') as string[]

const last = instructions.findLastIndex(([, name]) => name === 'FROM')
const stages = { build: instructions.slice(0, last), image: instructions.slice(last) }

for (const [stage, steps] of Object.entries(stages)) {
  const target = join(folder, stage, 'app')
  mkdirSync(target, { recursive: true })
  for (const [, name, rest = ''] of steps) {
    if (name === 'COPY') copy(rest, target)
    // The RUN instructions of the final image need root.
    if (name === 'RUN' && stage === 'build') execFileSync('sh', ['-c', rest], { cwd: target, stdio: 'inherit' })
  }
}

const app = join(folder, 'image', 'app')
const variables = stages.image.filter(([, name]) => name === 'ENV').flatMap(([, , rest = '']) => rest.split(/ +/)).map(pair => pair.split('=') as [string, string])
const token = 'a-token-of-the-image'
const env = {
  ...Object.fromEntries(variables), PATH: process.env.PATH, PORT: String(await closedPort()), DATA_DIR: join(folder, 'data'), ACCESS_TOKENS: token
}
const [program = '', ...args] = [...word('ENTRYPOINT'), ...word('CMD', stages.image.filter(([, name]) => name === 'CMD'))]
const service = spawn(program, args, { cwd: app, env, stdio: 'inherit' })
const healthCheck = word('HEALTHCHECK')
try {
  for (let tries = 0; !healthy(); tries++) {
    if (tries > 50) throw new Error('the service did not become healthy')
    await sleep(100)
  }
  const answer = await fetch(`http://127.0.0.1:${env.PORT}/plants`, {
    method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: '{"id":9223372036854775807,"name":"Monstera"}'
  })
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
} finally {
  service.kill('SIGTERM')
}
const [code] = await once(service, 'exit')
const size = execFileSync('du', ['-sm', app], { encoding: 'utf8' }).split('\t')[0]
console.log(`the steps of the Dockerfile build a service of ${size} MB that works on Node ${process.versions.node}; exit ${code}`)
rmSync(folder, { recursive: true })
process.exit(code)

function healthy (): boolean {
  try {
    execFileSync(healthCheck[0] as string, healthCheck.slice(1), { cwd: app, env, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function copy (rest: string, target: string): void {
  const words = rest.split(/ +/)
  const from = words[0]?.startsWith('--from=') === true ? join(folder, (words.shift() as string).slice('--from='.length)) : undefined
  const to = words.pop() as string
  for (const source of words) {
    const destination = to.endsWith('/') ? join(target, to, basename(source)) : join(target, to)
    mkdirSync(dirname(destination), { recursive: true })
    cpSync(from === undefined ? source : join(from, source), destination, { recursive: true })
  }
}
