import { once } from 'node:events'
import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { PassThrough, Readable, Transform, Writable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type {
  FastifyInstance, FastifyRequest, preParsingAsyncHookHandler, preParsingHookHandler, RequestPayload
} from 'fastify'
import t from 'tap'
import { channels, type PlantStore, type QueueMessage } from '../../src/index.js'
import { host, PLANT, register } from '../support/http/hosts.js'
import { listen, RawConnection } from '../support/http/raw-connection.js'
import { answersError, AUTHORIZATION, create, HEAD, JSON_TYPE, TOKEN } from '../support/http/service.js'
import { until } from '../support/until.js'

const SMALL = JSON.stringify(PLANT)
const LARGE = JSON.stringify({ ...PLANT, name: 'x'.repeat(300_000) })
/** Beyond Fastify's default limit, too. */
const HUGE = JSON.stringify({ ...PLANT, name: 'x'.repeat(1_200_000) })
const CHUNKED = 'Transfer-Encoding: chunked'

type Handler = (request: IncomingMessage, response: object) => void

/** A create request over a socket. */
function requestOf (body: string, { type = JSON_TYPE, isChunked = false } = {}): string {
  const length = isChunked ? CHUNKED : `Content-Length: ${body.length}`
  const sent = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body
  return [...HEAD.slice(0, 2), AUTHORIZATION, type, length, '', sent].join('\r\n')
}

/** Registers the plugin, and returns what its requests hold. */
async function observed (app: FastifyInstance, options: object = {}): Promise<QueueMessage> {
  let queue: QueueMessage = { pending: NaN, bytes: NaN }
  const observe = (message: QueueMessage): void => { queue = message }
  channels.queue.subscribe(observe)
  await register(app, options)
  channels.queue.unsubscribe(observe)
  return queue
}

/** As fastify-raw-body does it: a copy of the body up to the route's limit, beyond which the request is paused. */
const copyBody: preParsingHookHandler = (request, _reply, payload, done) => {
  let received = 0
  const copy = (chunk: Buffer): void => {
    received += chunk.length
    if (received > request.routeOptions.bodyLimit) payload.off('data', copy).pause()
  }
  payload.on('data', copy)
  done(null, payload)
}
const neverTakes = (): Writable => new Writable({ write () {} })
const failing = (): Transform => new Transform({
  transform (_chunk, _encoding, done) { setImmediate(done, new Error('not gzip')) }
})

const readers: Record<string, preParsingHookHandler> = {
  'copies the body, and pauses at the limit': copyBody,
  'pauses the body': async (_request, _reply, payload) => { payload.pause() },
  'pipes the body into what takes nothing, and returns another': async (_request, _reply, payload) => {
    payload.pipe(neverTakes())
    return Readable.from([HUGE])
  },
  'returns what it pipes the body into': async (_request, _reply, payload) => payload.pipe(new PassThrough()),
  'returns what it pipes the body into, which fails': async (_request, _reply, payload) => payload.pipe(failing())
}
const refused: Record<string, { request: string, statuses: number[], limits?: object }> = {
  'a body over the limit': { request: requestOf(HUGE), statuses: [413, 400] },
  'a body over the limit, in chunks': { request: requestOf(HUGE, { isChunked: true }), statuses: [413, 400] },
  'another media type': { request: requestOf(HUGE, { type: 'Content-Type: text/xml' }), statuses: [415] },
  'no room': { request: requestOf(HUGE), statuses: [503, 400], limits: { bodyLimit: 4_000_000, queueBytes: 1_000 } },
  'text that is not JSON': { request: requestOf('{'), statuses: [400, 413] }
}

for (const [hook, preParsing] of Object.entries(readers)) {
  t.test(`behind a hook that ${hook}, a refused body is read to its end, or the connection is closed`, async t => {
    for (const [name, { request, statuses, limits }] of Object.entries(refused)) {
      const log: string[] = []
      const app = host(t, { logger: { level: 'warn', stream: { write: (line: string) => log.push(line) } } })
      app.addHook('preParsing', preParsing)
      await register(app, { bodyLimit: 100_000, ...limits })
      const connection = await RawConnection.open(t, await listen(app))
      connection.socket.write(request)
      const { status, headers } = await connection.answer()
      t.ok(statuses.includes(status), `${name}: ${status}`)
      if (headers.connection !== 'close') {
        connection.socket.write(requestOf('{'))
        await connection.answer().catch(() => connection.closed())
      }
      t.notMatch(log.join(''), /already sent/, 'it is refused once')
      await app.close()
      connection.socket.destroy()
    }
  })
}

t.test('bodyLimit is the limit of the route, which hooks of the host can read', async t => {
  const app = host(t)
  app.addHook('preParsing', copyBody)
  await register(app, { bodyLimit: 4_000_000 })
  const connection = await RawConnection.open(t, await listen(app))
  connection.socket.write(requestOf(JSON.stringify({ ...PLANT, name: 'x'.repeat(2_000_000) })))
  t.equal((await connection.answer()).status, 200)
})

t.test('a Connection: close that a hook of the host has set stays on every response', async t => {
  for (const hook of ['onRequest', 'onSend'] as const) {
    const app = host(t)
    app.addHook(hook as 'onRequest', async (_request, reply) => { reply.header('connection', 'close') })
    await register(app, { bodyLimit: 1_000, queueBytes: 500 })
    const body = `"${'x'.repeat(600)}"`
    for (const { status, headers, ...request } of [
      { status: 200, body: PLANT },
      { status: 400, body: '{' },
      { status: 400, body: '' },
      { status: 401, body: PLANT, headers: { authorization: undefined } },
      { status: 413, body: body + body },
      { status: 415, body: PLANT, headers: { 'content-type': 'text/xml' } },
      { status: 503, body }
    ]) {
      const response = await create(app, '/plants', request.body, headers)
      t.match(response, { statusCode: status, headers: { connection: 'close' } }, `${hook}: ${status}`)
    }
  }
})

t.test('with maxRequestsPerSocket of the host, the last response on a connection says that it closes', async t => {
  const app = host(t, { maxRequestsPerSocket: 1 })
  await register(app, { bodyLimit: 100 })
  const port = await listen(app)
  for (const request of [requestOf(LARGE), requestOf('<x/>', { type: 'Content-Type: text/xml' }), requestOf('{')]) {
    const connection = await RawConnection.open(t, port)
    connection.socket.write(request)
    t.match(await connection.answer(), { status: /^4/, headers: { connection: 'close' } })
  }
})

t.test('a body that was read before Fastify is refused at once, unless a preParsing hook gives it back', async t => {
  const app = host(t, {
    serverFactory: (handler: Handler) => createServer(async (request, response) => {
      const rawBody = Buffer.concat(await request.toArray())
      handler(Object.assign(request, { rawBody }), response)
    })
  })
  await app.register(async scope => { await register(scope) })
  await app.register(async scope => {
    scope.addHook('preParsing', async request => Readable.from([Object(request.raw).rawBody]))
    await register(scope, { prefix: '/restored' })
  })
  const port = await listen(app)
  const [refused, restored] = [await RawConnection.open(t, port), await RawConnection.open(t, port)]
  refused.socket.write(requestOf(SMALL))
  t.match(await refused.answer(), { status: 400, body: /"error":40001,.*docs\/embedding\.md/ })
  restored.socket.write(requestOf(SMALL).replace('/plants', '/restored/plants'))
  t.equal((await restored.answer()).status, 200)
})

t.test('queueLimit and queueBytes hold while a hook of the host waits', async t => {
  for (const hook of ['preValidation', 'preHandler', 'preSerialization', 'onSend'] as const) {
    const app = host(t)
    let release = (): void => {}
    const released = new Promise<void>(resolve => { release = resolve })
    app.addHook(hook as 'preHandler', async (_request, reply) => { if (reply.statusCode === 200) await released })
    const queue = await observed(app, { queueLimit: 4, queueBytes: 2_000 })
    const waiting = [1, 2, 3].map(async id => create(app, '/plants', { id, name: 'x'.repeat(400) }))
    await until(() => queue.pending === 3 && queue.bytes > 1_200)
    answersError(t, await create(app, '/plants', { id: 4, name: 'x'.repeat(1_000) }), 50301, /are too large/, hook)
    const fourth = create(app, '/plants', { id: 5, name: 'Fern' })
    await until(() => queue.pending === 4)
    answersError(t, await create(app, '/plants', PLANT), 50301, /Too many create requests/, hook)
    release()
    for (const response of [...waiting, fourth]) t.equal((await response).statusCode, 200)
    await until(() => queue.pending === 0)
    t.equal(queue.bytes, 0)
  }
})

/** A stream with the beginning of a body, which is destroyed soon. */
function broken (error?: Error): Readable {
  const stream = new Readable({ read () {} })
  stream.push('{"id":1,')
  stream.once('resume', () => { setImmediate(() => stream.destroy(error)) })
  return stream
}

/** A stream that goes on after the client has left. */
function outliving (payload: Readable): Readable {
  const stream = new PassThrough()
  payload.once('data', chunk => { stream.write(chunk) })
  payload.once('close', () => {
    stream.write('more')
    setImmediate(() => stream.destroy())
  })
  return stream
}

/** A `preParsing` hook that returns this stream. */
function withStream (stream: (payload: RequestPayload) => RequestPayload | Promise<RequestPayload>) {
  const preParsing: preParsingAsyncHookHandler = async (_request, _reply, payload) => stream(payload)
  return { hooks: (app: FastifyInstance) => app.addHook('preParsing', preParsing) }
}

/** How a request ends that does not come to the store. The client leaves when the request is pending, if it must. */
const ends: Record<string, { hooks: (app: FastifyInstance) => void, sent?: string, clientLeaves?: boolean }> = {
  'a hook throws': { hooks: app => app.addHook('preHandler', async () => { throw new Error('no') }) },
  'a hook replies': { hooks: app => app.addHook('preHandler', async (_request, reply) => reply.code(403).send('no')) },
  'a hook removes all listeners of the response': {
    hooks: app => app.addHook('preHandler', async (_request, { raw }) => { raw.removeAllListeners('close') })
  },
  'a hook hijacks the reply': {
    hooks: app => app.addHook('preHandler', async (_request, reply) => { reply.hijack().raw.end('mine') })
  },
  'a hook hijacks the reply and never answers, and the client leaves': {
    hooks: app => app.addHook('preHandler', async (_request, reply) => { reply.hijack() }), clientLeaves: true
  },
  'a hook never calls back, and the client leaves': {
    hooks: app => app.addHook('preHandler', () => {}), clientLeaves: true
  },
  'a hook never calls back, and the client of pipelined requests leaves': {
    hooks: app => app.addHook('preHandler', () => {}), clientLeaves: true, sent: requestOf(SMALL).repeat(20)
  },
  'the client leaves while it sends the body': {
    hooks: () => {}, clientLeaves: true, sent: requestOf(LARGE).slice(0, 9_000)
  },
  'the stream of a preParsing hook fails': withStream(() => broken(new Error('no'))),
  'it fails with what is no error': withStream(() => broken(Object.freeze(new Error('frozen')))),
  'it is destroyed': withStream(() => broken()),
  'the hook resolves with none': withStream(() => null as unknown as Readable),
  'it was destroyed before': withStream(() => new Readable({ read () {} }).destroy()),
  'it is not one of bytes': withStream(() => Readable.from([{ id: 1 }])),
  'it is destroyed after the request has ended': withStream(async payload => {
    await once(payload.resume(), 'end')
    return broken()
  }),
  'it is destroyed after the client has left': {
    ...withStream(outliving), clientLeaves: true, sent: requestOf(LARGE).slice(0, 9_000)
  }
}

t.test('every request gives back what it holds, however it ends', async t => {
  for (const [name, { hooks, sent = requestOf(SMALL), clientLeaves = false }] of Object.entries(ends)) {
    const app = host(t)
    hooks(app)
    const queue = await observed(app)
    const port = await listen(app)
    for (let time = 0; time < 3; time++) {
      const connection = await RawConnection.open(t, port)
      connection.socket.write(sent)
      if (clientLeaves) await until(() => queue.pending > 0)
      else t.ok((await connection.answer()).status > 0)
      connection.socket.destroy()
      await until(() => queue.pending === 0)
      t.equal(queue.bytes, 0, name)
    }
  }
})

/** Who is waiting when the client of pipelined requests leaves. */
const waits: Record<string, (app: FastifyInstance, wait: (request: FastifyRequest) => Promise<void>) => object> = {
  'an onRequest hook': (app, wait) => { app.addHook('onRequest', wait); return {} },
  'a preHandler hook': (app, wait) => { app.addHook('preHandler', wait); return {} },
  'a hook that never calls back': (app, wait) => { app.addHook('preHandler', request => { wait(request) }); return {} },
  'the tokens': (_app, wait) => ({
    tokens: async (_token: string, request: FastifyRequest) => {
      await wait(request)
      return true
    }
  })
}

t.test('nothing is kept of a request whose client leaves, whoever is waiting', async t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  for (const [who, wait] of Object.entries(waits)) {
    const requests: WeakRef<FastifyRequest>[] = []
    const app = host(t)
    const options = wait(app, async request => {
      requests.push(new WeakRef(request))
      await once(request.raw.socket, 'close')
    })
    await register(app, options)
    const connection = await RawConnection.open(t, await listen(app))
    connection.socket.write(requestOf(SMALL).repeat(3))
    await until(() => requests.length === 3)
    connection.socket.destroy()
    await until(() => {
      collectGarbage()
      return requests.every(request => request.deref() === undefined)
    }, 50)
    t.pass(who)
  }
})

t.test('a store that settles after the client has left gives back what the request holds', async t => {
  let settle = (): void => {}
  const store: PlantStore = { create: async () => new Promise(resolve => { settle = () => { resolve('stored') } }) }
  const app = host(t)
  const queue = await observed(app, { store })
  const connection = await RawConnection.open(t, await listen(app))
  connection.socket.write(requestOf(SMALL))
  await until(() => queue.pending === 1)
  connection.socket.destroy()
  await once(app.server, 'close', { signal: AbortSignal.timeout(50) }).catch(() => {})
  t.equal(queue.pending, 1, 'a store that hangs accumulates no more')
  settle()
  await until(() => queue.pending === 0)
  t.equal(queue.bytes, 0)
})

t.test('a response without a server, as of an adapter for AWS Lambda, gives back what its request holds', async t => {
  const app = host(t)
  const queue = await observed(app, { queueLimit: 1 })
  await app.ready()
  for (const socket of [new Socket(), { remoteAddress: '192.0.2.1' }, null]) {
    const request = Object.assign(new IncomingMessage(socket as Socket), {
      complete: true,
      method: 'POST',
      url: '/plants',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    })
    const response = new ServerResponse(request)
    response.assignSocket(Object.assign(new PassThrough().resume(), { destroySoon () {} }) as unknown as Socket)
    request.push(SMALL)
    request.push(null)
    app.routing(request, response)
    await once(response, 'finish')
    t.strictSame([response.statusCode, queue.pending], [200, 0])
  }
})
