import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { mongoPlace } from '../places.js'
import { mongodb } from '../mongodb-for-tests.js'
import { launch } from '../program.js'
import { RawConnection } from '../raw-http.js'
import { plantsInFile } from '../sqlite-file.js'

const TOKEN = 'a-token-that-no-log-may-hold'

t.jobs = 2

t.test('without configuration it tells on its first screen how to be called, and the curl line works as it is printed', async t => {
  const folder = t.testdir()
  const service = launch(t, { DATA_DIR: folder }, { counted: true })
  const address = await service.ready()
  t.match(address, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
  const { stdout } = service
  t.ok(stdout.includes(`listens at  ${address}`))
  t.match(stdout, /stores in {3}SQLite, .*plants\.db/)
  t.equal(stdout.match(/^ {2}token {7}([\w-]{32}) /gm)?.length, 1, 'the token, once')
  const lines = stdout.match(/^ *curl .*$/gm) ?? []
  t.equal(lines.length, 1, 'the curl line, once')

  const { stdout: answer } = await promisify(execFile)('bash', ['-c', lines[0] as string])
  t.strictSame(JSON.parse(answer), { name: 'Monstera deliciosa', tag: 'aroid' })
  t.strictSame(plantsInFile(join(folder, 'plants.db')), new Map([[1n, { name: 'Monstera deliciosa', tag: 'aroid' }]]))
  t.match(await service.end('SIGTERM'), { code: 0, signal: null })
  t.equal(service.stderr, '')
})

t.test('on SIGTERM it answers what is in flight, takes no more, and ends with code 0', async t => {
  const folder = t.testdir()
  const service = launch(t, { DATA_DIR: folder, ACCESS_TOKENS: TOKEN, NODE_ENV: 'production' })
  const { port } = new URL(await service.ready())
  t.notMatch(service.stdout, /curl/, 'in production there is no first screen')
  const body = '{"id":7,"name":"a name that no log may hold"}'
  const connection = await RawConnection.open(t, Number(port))
  connection.write('POST /plants HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json', `Content-Length: ${body.length}`, '', body.slice(0, 9))
  await sleep(50)
  const end = service.end('SIGTERM')
  await sleep(100)
  t.equal((await connection.write(body.slice(9)).answer()).status, 200)
  t.match(await end, { code: 0, signal: null })
  t.strictSame([...plantsInFile(join(folder, 'plants.db')).keys()], [7n])
  await t.rejects(fetch(`http://127.0.0.1:${port}/health/live`))
  t.notMatch(service.stdout + service.stderr, /no-log-may|no log may/)
})

t.test('after SIGKILL under load, every plant that was acknowledged is there', async t => {
  const folder = t.testdir()
  const env = { DATA_DIR: folder, ACCESS_TOKENS: TOKEN, NODE_ENV: 'production' }
  const service = launch(t, env)
  const address = await service.ready()
  const acknowledged: number[] = []
  let next = 0
  async function client (): Promise<void> {
    for (;;) {
      const id = next++
      const status = await post(address, id).catch(() => 0)
      if (status === 0) return
      if (status === 200) acknowledged.push(id)
    }
  }
  const clients = Promise.all(Array.from({ length: 16 }, client))
  while (acknowledged.length < 300) await sleep(5)
  t.match(await service.end('SIGKILL'), { code: null, signal: 'SIGKILL' })
  await clients

  const again = launch(t, env)
  const address2 = await again.ready()
  const stored = plantsInFile(join(folder, 'plants.db'))
  t.strictSame(acknowledged.filter(id => (stored.get(BigInt(id)) as { name: string } | undefined)?.name !== `plant ${id}`), [], `${acknowledged.length} acknowledged, ${stored.size} stored`)
  t.equal(await post(address2, acknowledged[0] as number), 200, 'the same plant again')
  t.equal((await fetch(`${address2}/health/ready`)).status, 200)
  t.match(await again.end('SIGINT'), { code: 0, signal: null })
})

const { missing } = await mongodb()
t.test('with MONGODB_URL plants go there', { skip: missing ?? false }, async t => {
  const place = await mongoPlace(t)
  const service = launch(t, { MONGODB_URL: place.url, ACCESS_TOKENS: TOKEN })
  const address = await service.ready()
  t.equal(await post(address, 1), 200)
  t.strictSame(await place.stored(), new Map([[1n, { name: 'plant 1' }]]))
  t.match(service.stdout, /stores in {3}MongoDB, /)
  t.match(await service.end('SIGTERM'), { code: 0, signal: null })
})

async function post (address: string, id: number): Promise<number> {
  const { status } = await fetch(`${address}/plants`, {
    method: 'POST', body: `{"id":${id},"name":"plant ${id}"}`, headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  })
  return status
}
