import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { needs } from '../support/process/needs.js'
import { startService, testFolder, token } from '../support/process/program.js'

/** The usual paths of Linux distributions; CHROMIUM takes precedence. */
const chromiumPath = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .find(path => path !== undefined && existsSync(path))

/** The options of tests that need Chromium. */
const withChromium = needs(chromiumPath === undefined ? 'Chromium is missing: apt-get install chromium, or set CHROMIUM to its path' : undefined)

/** A name of 127.0.0.1 that a browser does not treat as local. */
const REMOTE_NAME = 'plants.example'

/** A page in a real Chromium, driven over its debugging pipe (https://chromedevtools.github.io/devtools-protocol/). */
class Page {
  readonly requested: string[] = []
  readonly #pipe: Writable
  readonly #answers = new Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>()
  #session: string | undefined
  #calls = 0

  static async open (t: Test, url: string): Promise<Page> {
    if (chromiumPath === undefined) throw new Error('Chromium is missing')
    const folder = testFolder(t)
    const child = spawn(chromiumPath, [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--window-size=1200,1600', `--user-data-dir=${join(folder, 'profile')}`, '--remote-debugging-pipe',
      `--host-resolver-rules=MAP ${REMOTE_NAME} 127.0.0.1`
    ], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
    const page = new Page(child.stdio[3] as Writable, child.stdio[4] as Readable)
    t.teardown(async () => {
      // If the browser is killed, processes that still write to the folder are left behind.
      const closed = once(child, 'close')
      const timeout = setTimeout(() => child.kill('SIGKILL'), 10_000)
      page.#call('Browser.close').catch(() => {})
      await closed
      clearTimeout(timeout)
    })
    const { targetId } = await page.#call('Target.createTarget', { url: 'about:blank' })
    page.#session = (await page.#call('Target.attachToTarget', { targetId, flatten: true })).sessionId
    await page.#call('Network.enable')
    await page.#call('Page.navigate', { url })
    return page
  }

  private constructor (input: Writable, output: Readable) {
    this.#pipe = input
    let text = ''
    output.setEncoding('utf8').on('data', (chunk: string) => {
      const messages = (text + chunk).split('\0')
      text = messages.pop() as string
      for (const message of messages) this.#receive(JSON.parse(message))
    })
  }

  /** The value of an expression in the page, once it is truthy. */
  async when (expression: string): Promise<any> {
    for (let tries = 0; tries < 600; tries++) {
      const { result } = await this.#call('Runtime.evaluate', { expression, returnByValue: true })
      if (result.value) return result.value
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    throw new Error(`never true in the page: ${expression}`)
  }

  async click (selector: string): Promise<void> {
    await this.when(`(element => { element?.click(); return element !== null })(document.querySelector(${JSON.stringify(selector)}))`)
  }

  async type (selector: string, text: string): Promise<void> {
    await this.when(`(element => { element?.focus(); return element !== null })(document.querySelector(${JSON.stringify(selector)}))`)
    await this.#call('Input.insertText', { text })
  }

  async #call (method: string, params: object = {}): Promise<any> {
    const id = ++this.#calls
    this.#pipe.write(`${JSON.stringify({ id, method, params, ...(this.#session && { sessionId: this.#session }) })}\0`)
    return new Promise((resolve, reject) => { this.#answers.set(id, { resolve, reject }) })
  }

  #receive (
    { id, method, params, result, error }: {
      id?: number, method?: string, params?: any, result?: unknown, error?: { message: string }
    }
  ): void {
    if (method === 'Network.requestWillBeSent') this.requested.push(params.request.url)
    if (id === undefined) return
    const answer = this.#answers.get(id)
    this.#answers.delete(id)
    if (error === undefined) answer?.resolve(result)
    else answer?.reject(new Error(error.message))
  }
}

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
})
