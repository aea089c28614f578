import { pino } from 'pino'
import t from 'tap'
import { certificateLog } from '../../../src/service/logging/certificate-log.js'
import { certificateFiles, makeCertificate } from '../../support/process/make-certificate.js'
import { startService, testFolder } from '../../support/process/program.js'
import { until } from '../../support/until.js'
import { VirtualClock } from '../../support/virtual-clock.js'

const DAY = 86_400_000

function watch (days: number) {
  const clock = new VirtualClock()
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => { lines.push(JSON.parse(line)) } })
  const setCertificate = certificateLog(log, clock, () => clock.now())
  setCertificate({ expiresAt: days * DAY })
  return { clock, lines, setCertificate }
}

t.test('a certificate that expires while it is served is logged once 14 days before, and once when it expires', async t => {
  const { clock, lines } = watch(20)
  t.equal(clock.timers, 0, 'the timer does not keep the process alive')
  await clock.pass(5 * DAY)
  t.strictSame(lines, [])
  await clock.pass(2 * DAY)
  const soon = { level: 40, expires: '1970-01-21T00:00:00.000Z', msg: /^the TLS certificate expires on 1970-01-21T00:00.+ SIGHUP$/ }
  t.match(lines, [soon])
  t.equal(lines.length, 1)
  await clock.pass(12 * DAY)
  t.equal(lines.length, 1)
  await clock.pass(30 * DAY)
  t.match(lines, [soon, { level: 50, msg: /^the TLS certificate expired on 1970-01-21T00:00.+ SIGHUP$/ }])
  t.equal(lines.length, 2)
})

t.test('an expired certificate is logged immediately, and one that is no longer served is not logged', async t => {
  t.match(watch(0).lines, [{ level: 50, msg: /^the TLS certificate expired/ }])
  const replaced = watch(20)
  replaced.setCertificate(undefined)
  await replaced.clock.pass(30 * DAY)
  t.strictSame(replaced.lines, [])
})

t.test('the service logs an expiry at startup and at each reload, in one process only, even with several workers', async t => {
  const folder = testFolder(t)
  const { use, ...files } = certificateFiles(folder)
  use(makeCertificate(folder, 'soon', 10))
  const service = await startService(t, { ...files, WORKERS: '2' })
  t.match(await service.logged('the TLS certificate expires on'), { level: 40, expires: /Z$/ })
  const count = (): number => service.log.filter(({ msg }) => String(msg).startsWith('the TLS certificate')).length
  t.equal(count(), 1)
  use(makeCertificate(folder, 'later', 30))
  service.child.kill('SIGHUP')
  await service.logged('SIGHUP: access tokens and certificate reloaded')
  use(makeCertificate(folder, 'sooner', 5))
  service.child.kill('SIGHUP')
  await until(() => count() === 2)
})
