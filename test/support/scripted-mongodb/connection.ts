import type { Document } from 'bson'
import type { Socket } from 'node:net'
import { hello } from './commands/hello.js'
import { executeRequest } from './execute-request.js'
import type { Member } from './member.js'
import { FrameSplitter } from './wire/frame-splitter.js'
import { readRequest } from './wire/read-request.js'
import type { Request } from './wire/request.js'
import { writeAnswer, type Framing } from './wire/write-answer.js'

/** One client's connection to a member: messages in, answers out. */
export class Connection {
  readonly #socket: Socket
  readonly #member: Member
  readonly #frames = new FrameSplitter()
  readonly #gone = new AbortController()

  constructor (socket: Socket, member: Member) {
    this.#socket = socket
    this.#member = member
    socket.on('data', chunk => this.#read(chunk))
    socket.on('error', () => {}) // a client may disconnect at any time
    socket.on('close', () => this.#gone.abort())
  }

  close (): void {
    this.#socket.destroy()
  }

  #read (chunk: Buffer): void {
    try {
      for (const frame of this.#frames.push(chunk)) this.#receive(readRequest(frame))
    } catch {
      this.close() // not the wire protocol, or a part of it that is not supported
    }
  }

  async #receive (request: Request): Promise<void> {
    await this.#member.resumed()
    if (request.command === 'hello' && request.body['topologyVersion'] !== undefined) return await this.#streamHello(request)

    const answer = await executeRequest(request, this.#member, {
      closeConnection: () => this.close(),
      sendHalf: answer => this.#sendHalf(answer, { responseTo: request.requestId })
    })
    if (answer === undefined) return
    await this.#send(answer, { responseTo: request.requestId, legacy: request.legacy })
  }

  async #send (answer: Document, framing: Framing): Promise<number> {
    const { deployment } = this.#member
    if (deployment.answerDelayMs > 0) await deployment.wait(deployment.answerDelayMs)
    await this.#member.resumed()
    const { id, bytes } = writeAnswer(answer, framing)
    if (!this.#socket.destroyed) this.#socket.write(bytes)
    return id
  }

  #sendHalf (answer: Document, framing: Framing): void {
    const { bytes } = writeAnswer(answer, framing)
    this.#socket.write(bytes.subarray(0, bytes.length >> 1), () => this.close())
  }

  /**
   * The driver's monitor sends one `hello`, and gets an answer whenever the member's role changes, and at least every
   * `maxAwaitTimeMS`.
   */
  async #streamHello (request: Request): Promise<void> {
    let seen: Document = request.body['topologyVersion']
    let responseTo = request.requestId
    do {
      await this.#member.topologyVersion.changed(seen, Number(request.body['maxAwaitTimeMS'] ?? 0), this.#gone.signal)
      await this.#member.resumed()
      const answer = hello({ request, member: this.#member })
      seen = answer['topologyVersion']
      responseTo = await this.#send(answer, { responseTo, moreToCome: request.allowsExhaust })
    } while (request.allowsExhaust && !this.#gone.signal.aborted)
  }
}
