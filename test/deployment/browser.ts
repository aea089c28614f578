import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { testFolder } from '../support/process/program.js'

interface Test {
  teardown: (end: () => unknown) => unknown
}

interface Message {
  id?: number
  sessionId?: string
  method?: string
  result?: any
  error?: { message: string }
}

/** A page of a headless Chromium, controlled by the Chrome DevTools Protocol over two pipes. */
export class Page {
  #last = 0
  readonly #pending = new Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>()
  #buffer = ''
  #sessionId: string | undefined
  /** What the page logged as an error, such as a style that its security policy refuses. */
  readonly errors: string[] = []

  private constructor (private readonly input: Writable, output: Readable) {
    output.setEncoding('utf8').on('data', (text: string) => {
      const messages = (this.#buffer + text).split('\0')
      this.#buffer = messages.pop() ?? ''
      for (const message of messages) this.#receive(JSON.parse(message))
    })
  }

  /** Starts a browser, and ends it after the test. */
  static async open (t: Test): Promise<Page> {
    const folder = testFolder(t)
    const browser = spawn('chromium', [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
      `--user-data-dir=${folder}`, '--remote-debugging-pipe', 'about:blank'
    ], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
    const page = new Page(browser.stdio[3] as Writable, browser.stdio[4] as Readable)
    t.teardown(async () => {
      // Killed, it would leave processes that go on writing to the folder.
      page.#sessionId = undefined
      const closed = once(browser, 'exit')
      await page.send('Browser.close')
      await closed
    })
    const { targetId } = await page.send('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await page.send('Target.attachToTarget', { targetId, flatten: true })
    page.#sessionId = sessionId
    await page.send('Log.enable')
    await page.send('Page.enable')
    return page
  }

  /** Sends a command of the protocol: https://chromedevtools.github.io/devtools-protocol. */
  async send (method: string, params: object = {}): Promise<any> {
    const id = ++this.#last
    this.input.write(JSON.stringify({ id, method, params, sessionId: this.#sessionId }) + '\0')
    return new Promise((resolve, reject) => { this.#pending.set(id, { resolve, reject }) })
  }

  #receive ({ id, method, result, error, ...message }: Message & { params?: any }): void {
    const entry = method === 'Log.entryAdded' ? message.params.entry : undefined
    if (entry?.level === 'error') this.errors.push(entry.text)
    const call = this.#pending.get(id ?? 0)
    if (call === undefined) return
    if (error === undefined) call.resolve(result)
    else call.reject(new Error(error.message))
  }

  /** The value of an expression in the page, which may be a promise. */
  async evaluate (expression: string): Promise<any> {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression, awaitPromise: true, returnByValue: true
    })
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`)
    return result.value
  }

  /** Waits until an expression is true in the page. */
  async until (expression: string): Promise<void> {
    for (const start = performance.now(); !await this.evaluate(expression);) {
      if (performance.now() - start > 60_000) throw new Error(`not within 60 s: ${expression}`)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }

  /** Sets the size of the window, in CSS pixels, and the color scheme of the reader's system. */
  async show ({ width, height, scheme }: { width: number, height: number, scheme: 'light' | 'dark' }): Promise<void> {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false })
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] })
  }

  async screenshot (clip?: { x: number, y: number, width: number, height: number }): Promise<Buffer> {
    const options = { format: 'png', captureBeyondViewport: true, ...(clip && { clip: { ...clip, scale: 1 } }) }
    const { data } = await this.send('Page.captureScreenshot', options)
    return Buffer.from(data, 'base64')
  }
}
