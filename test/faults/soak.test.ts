import { existsSync, readdirSync } from 'node:fs'
import t from 'tap'
import { overHttp, PlantClients } from '../support/http/plant-clients.js'
import { needs } from '../support/process/needs.js'
import { Program, token } from '../support/process/program.js'

t.test('under load every plant is stored, and the number of file descriptors stays constant', needs(existsSync('/proc/self/fd') ? undefined : '/proc is missing'), async t => {
  const service = new Program([], { PORT: '0', ACCESS_TOKENS: token, DATA_DIR: t.testdir() })
  t.teardown(() => service.end('SIGTERM'))
  const clients = new PlantClients(overHttp(await service.ready(), token))
  await clients.load({ connections: 8, ms: 1_000 })
  const descriptors: number[] = []
  const sampling = setInterval(() => { descriptors.push(readdirSync(`/proc/${service.pid}/fd`).length) }, 200)
  await clients.load({ connections: 8, ms: 4_000 })
  clearInterval(sampling)

  t.strictSame(Object.keys(clients.counts), ['200'], JSON.stringify(clients.counts))
  t.ok(descriptors.length > 10)
  t.ok(Math.max(...descriptors) - Math.min(...descriptors) <= 1, descriptors.join(', '))
})
