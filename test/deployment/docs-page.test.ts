import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Page, REMOTE_NAME, withChromium } from '../support/process/chromium.js'
import { startService, token } from '../support/process/program.js'
import { projectFile } from '../support/process/project.js'

t.test('in a browser a user can authorize, create a plant and see the 200, without other network requests', withChromium, async t => {
  const service = await startService(t, {}, { counted: true })
  const origin = service.address.replace('127.0.0.1', REMOTE_NAME)
  const page = await Page.open(t, `${origin}/docs`)
  await page.click('.btn.authorize')
  await page.type('.auth-container input', token)
  await page.click('.auth-btn-wrapper .authorize')
  await page.click('.auth-btn-wrapper .btn-done')
  await page.click('.opblock-post .opblock-summary-control')
  // Before the page fills in the example, it would refuse the empty body itself.
  await page.when('document.querySelector(".opblock-post textarea")?.value.includes("Monstera")')
  await page.click('.opblock-post .execute')
  const status = await page.when('document.querySelector(".opblock-post .live-responses-table tbody .response-col_status")?.textContent')
  t.match(status, /^200/)
  const body = await page.when('document.querySelector(".opblock-post .live-responses-table tbody .response-col_description pre")?.textContent')
  t.match(JSON.parse(body), { name: 'Monstera deliciosa', tag: 'aroid' })
  t.same(page.requested.filter(url => !url.startsWith(origin) && !url.startsWith('data:') && url !== 'about:blank'), [], 'all requests go to the service')

  await page.when('(document.querySelector(".live-responses-table").scrollIntoView({ block: "end" }), true)')
  const png = await page.screenshot()
  t.same([...png.subarray(1, 4)], [...Buffer.from('PNG')])
  const folder = projectFile('.tap/screenshots')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'docs.png'), png)
})
