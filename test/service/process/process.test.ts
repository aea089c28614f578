import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { lost, overHttp, PlantClients } from '../../support/http/plant-clients.js'
import { needs } from '../../support/process/needs.js'
import { create, launch } from '../../support/process/program.js'
import { mongodb } from '../../support/stores/mongodb-for-tests.js'
import { mongoPlace } from '../../support/stores/places.js'
import { plantsInFile } from '../../support/stores/sqlite-file.js'

const TOKEN = 'a-token-that-no-log-may-contain'

t.jobs = 2

t.test('without configuration the first screen shows how to send a request, and its curl command works', async t => {
  const folder = t.testdir()
  const service = launch(t, { DATA_DIR: folder }, { counted: true })
  const address = await service.ready()
  t.match(address, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
  const { stdout } = service
  t.ok(stdout.includes(`listens at  ${address}`))
  t.match(stdout, /stores in {3}SQLite, .*plants\.db/)
  t.equal(stdout.match(/^ {2}token {7}([\w-]{32}) /gm)?.length, 1, 'the token, once')
  const lines = stdout.match(/^ *curl .*$/gm) ?? []
  t.equal(lines.length, 1, 'the curl command, once')

  const { stdout: answer } = await promisify(execFile)('bash', ['-c', lines[0] as string])
  t.strictSame(JSON.parse(answer), { name: 'Monstera deliciosa', tag: 'aroid' })
  t.strictSame(plantsInFile(join(folder, 'plants.db')), new Map([[1n, { name: 'Monstera deliciosa', tag: 'aroid' }]]))
  t.match(await service.end('SIGTERM'), { code: 0, signal: null })
  t.equal(service.stderr, '')
})

t.test('after SIGKILL under load, every acknowledged plant is stored', async t => {
  const folder = t.testdir()
  const env = { DATA_DIR: folder, ACCESS_TOKENS: TOKEN, NODE_ENV: 'production' }
  const service = launch(t, env)
  const clients = new PlantClients(overHttp(await service.ready(), TOKEN))
  const load = clients.load({ untilCut: true })
  while (clients.acknowledged.length < 300) await sleep(5)
  t.match(await service.end('SIGKILL'), { code: null, signal: 'SIGKILL' })
  await load

  const again = launch(t, env)
  const address = await again.ready()
  t.notMatch(again.stdout, /curl/, 'in production there is no first screen')
  t.strictSame(lost(clients.sent, plantsInFile(join(folder, 'plants.db'))), [], `${clients.acknowledged.length} acknowledged`)
  t.equal((await create(address, { bearer: TOKEN, id: 1, name: 'plant 1' })).status, 200, 'a retry of an acknowledged plant')
  t.equal((await fetch(`${address}/health/ready`)).status, 200)
  t.match(await again.end('SIGINT'), { code: 0, signal: null })
})

const { missing } = await mongodb()
t.test('with MONGODB_URL, plants are stored in MongoDB', needs(missing), async t => {
  const place = await mongoPlace(t)
  const service = launch(t, { MONGODB_URL: place.url, ACCESS_TOKENS: TOKEN })
  const address = await service.ready()
  t.equal((await create(address, { bearer: TOKEN, id: 1 })).status, 200)
  t.strictSame(await place.stored(), new Map([[1n, { name: 'Monstera' }]]))
  t.match(service.stdout, /stores in {3}MongoDB, /)
  t.match(await service.end('SIGTERM'), { code: 0, signal: null })
})
