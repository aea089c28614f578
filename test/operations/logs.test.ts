import t from 'tap'
import { create, startService, token } from '../program.js'

t.test('ACCESS_LOG writes one line a request, with the trace and without secrets, and loses none at the end', async t => {
  const service = await startService(t, { ACCESS_LOG: 'true', WORKERS: '2' }, { counted: true })
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  await fetch(`${service.address}/plants?access_token=${token}`, {
    method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', traceparent: `00-${trace}-00f067aa0ba902b7-01` }, body: '{"id":1,"name":"a name nobody may read"}'
  })
  await create(service.address, { bearer: 'another-access-token' })
  for (let i = 0; i < 200; i++) await create(service.address)
  service.child.kill('SIGTERM')
  t.equal((await service.ended).code, 0)
  const lines = service.log.filter(({ msg }) => msg === 'request')
  t.equal(lines.length, 202)
  const first = lines.find(({ traceId }) => traceId === trace)
  t.match(first, { level: 30, method: 'POST', url: '/plants', statusCode: 200, reqId: /^req-/, remoteAddress: '127.0.0.1' })
  t.type(first?.responseTime, 'number')
  t.match(lines.find(({ statusCode }) => statusCode === 401), { level: 30 }, 'a refusal is no error')
  t.notMatch(service.stdout, token)
  t.notMatch(service.stdout, 'nobody may read')
})

t.test('without ACCESS_LOG a request leaves no line', async t => {
  const service = await startService(t)
  await create(service.address)
  await create(service.address, { bearer: 'another-access-token' })
  service.child.kill('SIGTERM')
  const { stdout } = await service.ended
  t.notMatch(stdout, /"statusCode"/)
  t.match(service.log.map(({ msg }) => msg), [/^ready at/, /^SIGTERM: /, 'ended'])
})
