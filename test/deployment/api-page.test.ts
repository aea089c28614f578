import t, { type Test } from 'tap'
import { memoryPlantStore } from '../../src/stores/memory-plant-store.js'
import { serve, TOKEN } from '../support/http/service.js'
import { openAll, openPage } from './api-page.js'
import { Page } from './browser.js'
import { needsProgram } from '../support/process/needs.js'

const withBrowser = needsProgram('chromium')

async function open (t: Test, width: number, scheme: 'light' | 'dark' = 'light') {
  const { port } = await serve(t, memoryPlantStore(), { DOCS: true })
  const page = await Page.open(t)
  await page.show({ width, height: 900, scheme })
  await openPage(page, `http://127.0.0.1:${port}`)
  return { page, port }
}

/** What a reader sees of the elements: the texts of those that are displayed. */
function textsOf (page: Page, selector: string): Promise<string[]> {
  return page.evaluate(`Array.from(document.querySelectorAll(${JSON.stringify(selector)}))
    .filter(element => element.checkVisibility()).map(element => element.innerText)`)
}

t.test('the API page names /openapi.json and the likeliest errors, without a choice of one', withBrowser, async t => {
  const { page, port } = await open(t, 1200)
  await openAll(page)
  t.strictSame(await textsOf(page, '.info a[href$=json]'), [`http://127.0.0.1:${port}/openapi.json`])
  t.strictSame(await textsOf(page, '.servers select, .response-col_links'), [])
  const shown = 'Array.from(document.querySelectorAll(".opblock-post .examples-select-element"), ({ value }) => value)'
  const examples = await page.evaluate(shown)
  t.strictSame(examples.slice(0, 2), ['plantInvalid', 'credentialsMissing'])
  const texts = await textsOf(page, '.opblock-get .response-col_description')
  t.match(texts.join(), /,Healthy\s[^]*,Ready\s/)
})

t.test('the opened create request takes 3,000 px at most', withBrowser, async t => {
  const { page } = await open(t, 1300)
  await page.evaluate('document.querySelector(".opblock-post .opblock-summary-control").click()')
  await page.until('document.querySelectorAll(".opblock-post .response").length === 8')
  await page.until('document.getAnimations().length === 0')
  const height = await page.evaluate('document.querySelector(".opblock-post").getBoundingClientRect().height')
  t.ok(height > 1_000 && height <= 3_000, `${height} px`)
  const codes = await textsOf(page, '.opblock-post .response-col_status')
  t.strictSame(codes.filter(code => /^\d+$/.test(code)), ['200', '400', '401', '413', '415', '500', '503', '504'])
})

t.test('the API page says where a token is, and sends a create request with the one entered', withBrowser, async t => {
  const { page } = await open(t, 1200)
  await openAll(page)
  const [unauthorized] = await textsOf(page, '.opblock-post .response[data-code="401"]')
  t.match(unauthorized, 'On the API page, enter a token with Authorize')
  await page.evaluate('document.querySelector(".btn.authorize").click()')
  await page.until('document.querySelector(".modal-ux input") !== null')
  const dialog = await textsOf(page, '.modal-ux')
  t.match(dialog, [/one of ACCESS_TOKENS or, if that is not set, the token that the service printed/])
  await page.evaluate('document.querySelector(".modal-ux input").focus()')
  await page.send('Input.insertText', { text: TOKEN })
  await page.evaluate('document.querySelector(".modal-ux .authorize").click()')
  await page.evaluate('document.querySelector(".opblock-post .execute").click()')
  await page.until('document.querySelector(".live-responses-table .response-col_status") !== null')
  t.match(await textsOf(page, '.live-responses-table .response'), [/^200\s[^]*"name": "Monstera deliciosa"/])
  t.strictSame(page.errors, [], 'its security policy refuses nothing that it needs')
})

t.test('the API page is dark if the system is, at once when that changes, and can be read', withBrowser, async t => {
  const { page } = await open(t, 1200, 'dark')
  await openAll(page)
  /** Of each text on the page, how much its brightness differs from that of what is behind it; from 0 to 255. */
  const contrasts = `Array.from(document.querySelectorAll('.swagger-ui *'), element => {
    const isText = Array.from(element.childNodes).some(node => node.nodeType === 3 && node.data.trim() !== '')
    if (!isText || !element.checkVisibility()) return undefined
    const brightness = color => {
      const [red, green, blue, alpha = 1] = color.match(/[\\d.]+/g).map(Number)
      return alpha < 0.5 ? undefined : 0.3 * red + 0.59 * green + 0.11 * blue
    }
    let behind
    for (let parent = element; parent !== null && behind === undefined; parent = parent.parentElement) {
      behind = brightness(getComputedStyle(parent).backgroundColor)
    }
    const contrast = Math.abs((behind ?? 255) - brightness(getComputedStyle(element).color))
    return { text: element.innerText, contrast, behind: behind ?? 255 }
  }).filter(found => found !== undefined)`
  const dark = await page.evaluate(contrasts) as { text: string, contrast: number, behind: number }[]
  t.ok(dark.length > 100)
  t.strictSame(dark.filter(({ contrast }) => contrast < 45), [])
  const background = 'getComputedStyle(document.body).backgroundColor'
  t.equal(await page.evaluate(background), 'rgb(28, 32, 34)')

  await page.show({ width: 1200, height: 900, scheme: 'light' })
  await page.until(`${background} === 'rgb(250, 250, 250)' && document.getAnimations().length === 0`)
  const light = await page.evaluate(contrasts) as typeof dark
  t.strictSame(light.filter(({ contrast }) => contrast < 45), [])
})

t.test('the API page fits 400 px, also when everything is opened', withBrowser, async t => {
  const { page } = await open(t, 400)
  const width = async () => page.evaluate('document.documentElement.scrollWidth')
  t.equal(await width(), 400, 'closed')
  await openAll(page)
  t.equal(await width(), 400, 'opened')
  const beyond = await page.evaluate(`[...document.querySelectorAll('.responses-table')].filter(table => {
    const right = element => element.getBoundingClientRect().right
    return right(table) > right(table.closest('.opblock'))
  }).length`)
  t.equal(beyond, 0, 'each table stays within its frame')
  await page.evaluate('document.querySelectorAll(".execute").forEach(button => button.click())')
  await page.until('document.querySelectorAll(".live-responses-table").length === 3')
  t.equal(await width(), 400, 'executed')
  await page.evaluate('document.querySelectorAll(".tablinks[data-name=model]").forEach(tab => tab.click())')
  t.equal(await width(), 400, 'with schemas')
  await page.evaluate('document.querySelector(".btn.authorize").click()')
  await page.until('document.querySelector(".modal-ux") !== null')
  t.equal(await width(), 400, 'with the dialog of the token')
})
