import { Worker } from 'node:worker_threads'
import type { PeerStore, Plant } from './peer-store.js'

interface Pending { plant: Plant, resolve: (stored: boolean) => void }

/** Group commit at its simplest: plants that arrive during a transaction form the next one, in a separate thread. */
export function groupCommit (path: string): PeerStore {
  const thread = new Worker(new URL('group-commit-thread.js', import.meta.url), { workerData: path })
  let pending: Pending[] = []
  let writing: Pending[] = []

  function write (): void {
    if (writing.length > 0 || pending.length === 0) return
    writing = pending
    pending = []
    thread.postMessage(writing.map(({ plant }) => plant))
  }

  thread.on('message', (stored: boolean[]) => {
    const written = writing
    writing = []
    for (const [place, { resolve }] of written.entries()) resolve(stored[place] === true)
    write()
  })
  return {
    insert: plant => new Promise(resolve => {
      if (pending.push({ plant, resolve }) === 1) setImmediate(write)
    })
  }
}
