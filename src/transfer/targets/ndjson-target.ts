import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { formatPlantLine } from '../plant-line.js'
import type { PlantTarget } from '../run-copy.js'
import type { Tally } from '../tally.js'
import { OutputClosed, unwritable } from '../transfer-fault.js'

/**
 * Writes plants to a stream, one per line, no faster than it takes them.
 * @param signal if aborted, it no longer waits for the stream
 */
export function ndjsonTarget (output: Writable, name: string, tally: Tally, signal: AbortSignal): PlantTarget {
  let fault: NodeJS.ErrnoException | undefined
  output.on('error', error => { fault ??= error })

  function check (): void {
    if (fault === undefined) return
    throw fault.code === 'EPIPE' ? new OutputClosed() : unwritable(name, fault)
  }

  return {
    async write ({ plants }) {
      // After an error there is no 'drain'.
      check()
      const lines = plants.map(formatPlantLine).join('')
      // An error or an abort also stops the wait.
      if (!output.write(lines)) await once(output, 'drain', { signal }).catch(() => {})
      check()
      tally.copied += plants.length
    },
    async finish () {
      if (signal.aborted) return
      await new Promise<void>(resolve => {
        output.write('', error => {
          fault ??= error ?? undefined
          resolve()
        })
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
      check()
    }
  }
}
