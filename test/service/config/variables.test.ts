import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { create, launch, startService, testFolder, token } from '../../support/process/program.js'
import { program } from '../../support/process/project.js'
import { ScriptedMongo } from '../../support/scripted-mongodb/scripted-mongo.js'

const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

t.test('HOST sets the address, BODY_LIMIT limits the bytes of a body, and QUEUE_LIMIT the pending create requests', async t => {
  const service = await startService(t, { HOST: '0.0.0.0', BODY_LIMIT: '100', QUEUE_LIMIT: '1' })
  t.match(service.address, /^http:\/\/0\.0\.0\.0:\d+$/)
  const address = service.address.replace('0.0.0.0', '127.0.0.1')
  const send = async (body: string) => (await fetch(`${address}/plants`, { method: 'POST', headers, body })).status
  const plant = (bytes: number) => `{"id":0,"name":"${'x'.repeat(bytes - 18)}"}`
  t.equal(plant(100).length, 100)
  t.equal(await send(plant(100)), 200)
  t.equal(await send(plant(101)), 413)
  const statuses = new Set<number>()
  for (let turn = 0; turn < 100 && statuses.size < 2; turn++) {
    for (const { status } of await Promise.all(Array.from({ length: 20 }, () => create(address)))) statuses.add(status)
  }
  t.strictSame([...statuses].sort(), [200, 503])
})

t.test('lines below LOG_LEVEL are not logged', async t => {
  const service = launch(t, { DATA_DIR: testFolder(t), ACCESS_TOKENS: token, LOG_LEVEL: 'warn', QUEUE_LIMIT: '1' })
  const address = () => /listens at +(http\S+)/.exec(service.stdout)?.[1]
  for (let turn = 0; turn < 1_000 && address() === undefined; turn++) await sleep(20)
  let refused = 0
  for (let turn = 0; turn < 100 && refused === 0; turn++) {
    const responses = await Promise.all(Array.from({ length: 20 }, () => create(String(address()))))
    refused = responses.filter(({ status }) => status === 503).length
  }
  t.match(await service.end('SIGTERM'), { code: 0 })
  t.ok(service.log.length > 0)
  t.strictSame([...new Set(service.log.map(({ level }) => level))], [40])
})

t.test('the URL of MongoDB can be read from the file named by MONGODB_URL_FILE', async t => {
  const mongo = await ScriptedMongo.start(t)
  const file = join(testFolder(t), 'mongodb-url')
  writeFileSync(file, `${mongo.url}\n`)
  const service = await startService(t, { MONGODB_URL_FILE: file, DATA_DIR: undefined })
  t.equal((await create(service.address, { id: 5 })).status, 200)
  t.strictSame([...mongo.majority().keys()], [5n])
})

t.test('a secret can be read from a pipe', async t => {
  // Once the variables have been read, startup fails: no folder can be made there.
  const script = `echo ${token} | ACCESS_TOKENS_FILE=/dev/stdin DATA_DIR=/dev/null "$0" "$1"`
  const start = promisify(execFile)('sh', ['-c', script, process.execPath, program], { env: { PATH: process.env.PATH, PORT: '0' } })
  await t.rejects(start, { code: 1, stderr: /^plant-store: SQLite: \/dev\/null\/plants\.db cannot be written / })
})
