import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { create, startService, token } from '../support/process/program.js'
import { openSqlite } from '../support/stores/sqlite-file.js'

const SMALL_HEAP = { preload: ['--max-old-space-size=512'] }
const HEAD = `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
  'Content-Type: application/json\r\nConnection: close\r\n'
const TEXT = Buffer.alloc(1_000_000, 'x')
/** The parts of a plant of 1 MB; all plants share the buffer of the name. */
const megabyte = (id: number) => [`{"id":${id},"name":"`, TEXT, '"}'] as const

/** Sends a request on a new connection, and returns the status of its response; 0 if there was none. */
async function statusOf (address: string, ...pieces: (string | Buffer)[]): Promise<number> {
  const socket = connect(Number(new URL(address).port), '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (data: string) => { text += data.slice(0, 20) }).on('error', () => {})
  for (const piece of pieces) socket.write(piece)
  await new Promise(resolve => { socket.on('close', resolve) })
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)
}

/** The largest resident memory of a process so far, in MB; 0 if unknown. */
function peakMemory (pid: number): number {
  const status = existsSync(`/proc/${pid}/status`) ? readFileSync(`/proc/${pid}/status`, 'utf8') : ''
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024
}

t.test('1,600 requests of 1 MB while another program locks the database do not crash a process of 512 MB', async t => {
  const service = await startService(t, { STORE_TIMEOUT: '4000' }, SMALL_HEAP)
  const other = openSqlite(join(service.folder, 'plants.db'))
  other.exec('BEGIN EXCLUSIVE')
  const counts: Record<number, number> = {}
  await Promise.all(Array.from({ length: 1_600 }, async (_, id) => {
    const body = megabyte(id)
    const length = body.reduce((sum, { length }) => sum + length, 0)
    const status = await statusOf(service.address, `${HEAD}Content-Length: ${length}\r\n\r\n`, ...body)
    counts[status] = (counts[status] ?? 0) + 1
  }))
  t.ok((counts[503] ?? 0) > 1_400, `they are refused: ${JSON.stringify(counts)}`)
  t.ok(peakMemory(service.pid) < 512, `in ${peakMemory(service.pid)} MB`)
  other.exec('ROLLBACK')
  other.close()
  t.equal((await create(service.address, { id: 5_000_000 })).status, 200)
})

t.test('bodies of 500 kB in chunks of one byte, which each take memory, are refused, of 30 kB stored, ' +
  'in less than 256 MB', async t => {
  const service = await startService(t, {}, SMALL_HEAP)
  const send = async (size: number) => Promise.all([1, 2, 3, 4].map(async id => {
    const body = JSON.stringify({ id: size + id, name: 'x'.repeat(size) })
    const chunks = Buffer.alloc(6 * body.length, '1\r\nx\r\n')
    for (let i = 0; i < body.length; i++) chunks[6 * i + 3] = body.charCodeAt(i)
    return statusOf(service.address, `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, chunks, '0\r\n\r\n')
  }))
  t.strictSame(await send(500_000), [503, 503, 503, 503])
  t.strictSame(await send(30_000), [200, 200, 200, 200])
  t.ok(peakMemory(service.pid) < 256, `in ${peakMemory(service.pid)} MB`)
})
