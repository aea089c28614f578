// Runs several servers in this process, each for 100 ms at a time, and prints the times of a request as JSON: what
// slows the machine down for longer than that slows down all of them. `node price-process.js ALTERNATION`, as JSON.
import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { AddressInfo, Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnections } from '../load/connection.js'
import { checkAnswer, createRequests } from '../load/requests.js'
import { bareServer } from '../servers/bare.js'
import { fastifyApp } from '../servers/fastify.js'
import { requestLoop } from './request-loop.js'
import type { Alternation } from './steps.js'

const SLICE = 100_000 // µs
const TOKEN = 'a-token-for-the-bench'

const { servers, connections, warmUps, turns }: Alternation = JSON.parse(process.argv[2] ?? '')
const slices: Array<() => Promise<number>> = []
for (const server of servers) slices.push(await startServer(server))

const times: number[][] = servers.map(() => [])
for (let turn = 0; turn < warmUps + turns; turn++) {
  for (const [index, slice] of slices.entries()) {
    const time = await slice()
    if (turn >= warmUps) times[index]?.push(time)
  }
}
console.log(JSON.stringify(times))
process.exit()

/**
 * @returns what sends requests for a slice of this process's processor time, which other programs do not use up, and
 *   resolves to the µs of it for each request, all threads together
 */
async function startServer (name: string): Promise<() => Promise<number>> {
  const { port } = (await listening(name)).address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const opened = await openConnections(url, connections, error => { throw error })
  let answers = 0
  const loop = requestLoop(opened, createRequests(url, TOKEN), (shot, status, body) => {
    checkAnswer(shot, status, body)
    answers++
  })
  return async () => {
    answers = 0
    const begin = process.cpuUsage()
    loop.start()
    while (microsecondsSince(begin) < SLICE) await sleep(2)
    loop.stop()
    while (!loop.isIdle()) await new Promise(resolve => setImmediate(resolve))
    return microsecondsSince(begin) / answers
  }
}

function microsecondsSince (begin: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begin)
  return user + system
}

async function listening (name: string): Promise<Server> {
  if (name === 'bare') {
    const server = bareServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  const app = name.startsWith('file:')
    ? await pluginApp(name)
    : await fastifyApp(() => true, name === 'fastify' ? undefined : TOKEN)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server
}

/** A host of the plugin of a build, with that build's own Fastify, and a store that keeps nothing. */
async function pluginApp (module: string) {
  const fastify: typeof import('fastify')['default'] = createRequire(module)('fastify')
  const { default: plantStore } = await import(module)
  const app = fastify()
  await app.register(plantStore, { store: { create: async () => 'stored' }, tokens: [TOKEN] })
  return app
}
