import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { unwritable } from './new-file.js'
import { formatPlantLine } from '../plant-line.js'
import type { SourcePage } from '../sources/plant-source.js'
import type { PlantTarget } from '../run-copy.js'
import type { Tally } from '../tally.js'
import { OutputClosed } from '../transfer-fault.js'

/** Writes plants to a stream, one per line, no faster than it takes them. */
export class NdjsonTarget implements PlantTarget {
  readonly #output: Writable
  readonly #name: string
  readonly #tally: Tally
  readonly #signal: AbortSignal
  #fault: NodeJS.ErrnoException | undefined

  /** @param signal if aborted, it no longer waits for the stream */
  constructor (output: Writable, name: string, tally: Tally, signal: AbortSignal) {
    this.#output = output
    this.#name = name
    this.#tally = tally
    this.#signal = signal
    output.on('error', error => { this.#fault ??= error })
  }

  async write ({ plants }: SourcePage): Promise<void> {
    let lines = ''
    for (const plant of plants) lines += formatPlantLine(plant)
    // An error or an abort also stops the wait.
    if (!this.#output.write(lines)) await once(this.#output, 'drain', { signal: this.#signal }).catch(() => {})
    this.#check()
    this.#tally.copied += plants.length
  }

  async finish (): Promise<void> {
    if (this.#signal.aborted) return
    await new Promise<void>(resolve => {
      this.#output.write('', error => {
        this.#fault ??= error ?? undefined
        resolve()
      })
      this.#signal.addEventListener('abort', () => resolve(), { once: true })
    })
    this.#check()
  }

  #check (): void {
    if (this.#fault === undefined) return
    if (this.#fault.code === 'EPIPE') throw new OutputClosed()
    throw unwritable(this.#name, this.#fault)
  }
}
