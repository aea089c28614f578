import { existsSync, readdirSync, readFileSync } from 'node:fs'

/**
 * @returns a function that returns the microseconds of processor time that a process, and its busiest thread, have used
 *   since; undefined without Linux's /proc
 */
export function processorTime (pid: number): (() => { allThreads: number, busiestThread: number }) | undefined {
  if (!existsSync('/proc/self/schedstat')) return undefined
  const before = threadTimes(pid)
  return () => {
    const used = [...threadTimes(pid)].map(([thread, time]) => time - (before.get(thread) ?? 0))
    return { allThreads: used.reduce((sum, one) => sum + one, 0), busiestThread: Math.max(...used) }
  }
}

function threadTimes (pid: number): Map<string, number> {
  return new Map(readdirSync(`/proc/${pid}/task`).map(thread => {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1')
      return [thread, Number(text.split(' ')[0]) / 1000]
    } catch {
      return [thread, 0] // it has just ended
    }
  }))
}
