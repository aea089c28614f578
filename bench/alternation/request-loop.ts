import { performance } from 'node:perf_hooks'
import type { Connection } from '../load/connection.js'
import type { Shot } from '../load/requests.js'

type OnAnswer = (shot: Shot, status: number, body: string, since: number) => void

/** Sends requests from `start` to `stop`, and is idle when all of them are answered. */
export function requestLoop (
  connections: readonly Connection[], next: () => Shot, onAnswer: OnAnswer
) {
  let isRunning = false
  let pending = 0

  function send (connection: Connection): void {
    const shot = next()
    const since = performance.now()
    pending++
    connection.send(shot.text, (status, body) => {
      pending--
      onAnswer(shot, status, body, since)
      if (isRunning) send(connection)
    })
  }

  return {
    start () {
      isRunning = true
      for (const connection of connections) send(connection)
    },
    stop: () => { isRunning = false },
    isIdle: () => pending === 0
  }
}
