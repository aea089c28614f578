import { systemClock, type Clock, type Timer } from '../../clock.js'

const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 10_000
/** The longest back-off while no worker is left: the wait is an outage. */
const LONGEST_OUTAGE_MS = 1_000
/** A worker that has served for this long did not fail at startup. */
const SETTLED_MS = 1_000

interface Restart {
  nextDelayMs: number
  timer: Timer | undefined
  /** When the timer fires, in milliseconds on the clock. */
  at: number
}

/**
 * Decides when a worker that exited is replaced. Each slot has its own back-off: 100 ms, doubled after each worker
 * that did not serve for a second, up to 10 s. If no worker is left, the next one starts after 1 s at the latest.
 * @param start starts a worker in a slot
 */
export function restartSchedule<Slot> (start: (slot: Slot) => void, clock: Clock = systemClock) {
  const restarts = new Map<Slot, Restart>()

  /**
   * Schedules the replacement of a worker that exited.
   * @param servedMs how long it was ready, in milliseconds; 0 if it never was
   * @param workers how many workers are left, ready or starting
   * @returns milliseconds until its replacement starts, or less if no worker is left before that
   */
  function replace (slot: Slot, servedMs: number, workers: number): number {
    const restart = restarts.get(slot) ?? { nextDelayMs: FIRST_DELAY_MS, timer: undefined, at: 0 }
    restarts.set(slot, restart)
    const delayMs = servedMs >= SETTLED_MS ? FIRST_DELAY_MS : restart.nextDelayMs
    restart.nextDelayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS)
    const now = clock.now()
    schedule(slot, restart, now, delayMs)
    if (workers === 0) shortenOutage(now)
    return Math.round(restart.at - now)
  }

  function stop (): void {
    for (const { timer } of restarts.values()) timer?.clear()
  }

  function schedule (slot: Slot, restart: Restart, now: number, delayMs: number): void {
    restart.timer?.clear()
    restart.at = now + delayMs
    restart.timer = clock.setTimeout(() => {
      restart.timer = undefined
      start(slot)
    }, delayMs)
  }

  function shortenOutage (now: number): void {
    const waiting = [...restarts].filter(([, { timer }]) => timer !== undefined)
    const [next] = waiting.sort(([, a], [, b]) => a.at - b.at)
    if (next !== undefined && next[1].at > now + LONGEST_OUTAGE_MS) schedule(...next, now, LONGEST_OUTAGE_MS)
  }

  return { replace, stop }
}
