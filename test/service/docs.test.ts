import t from 'tap'
import { startService } from '../support/process/program.js'

t.test('the API page is off in production by default, and with DOCS=false', async t => {
  const inProduction = await startService(t, { NODE_ENV: 'production' })
  t.equal((await fetch(`${inProduction.address}/docs`)).status, 404)
  t.notMatch(inProduction.stdout, '/docs')
  const enabled = await startService(t, { NODE_ENV: 'production', DOCS: 'true' }, { counted: true })
  t.equal((await fetch(`${enabled.address}/docs`)).status, 200)
  const off = await startService(t, { DOCS: 'false' })
  t.equal((await fetch(`${off.address}/docs`)).status, 404)
  t.equal((await fetch(`${off.address}/openapi.json`)).status, 200)
})
