import { readdirSync, readFileSync } from 'node:fs'

/** Microseconds of processor time of a process, and of its busiest thread. */
export interface ProcessorTime { allThreads: number, busiestThread: number }

/** @returns a function that returns the processor time used since; undefined without Linux's /proc */
export function processorTime (pid: number): (() => ProcessorTime) | undefined {
  if (read('/proc/self/schedstat') === '') return undefined
  const before = threadTimes(pid)
  return () => {
    const used = [...threadTimes(pid)].map(([thread, time]) => time - (before.get(thread) ?? 0))
    return { allThreads: used.reduce((sum, one) => sum + one, 0), busiestThread: Math.max(...used) }
  }
}

function threadTimes (pid: number): Map<string, number> {
  const files = readdirSync(`/proc/${pid}/task`).map(thread => `/proc/${pid}/task/${thread}/schedstat`)
  return new Map(files.map(file => [file, Number(read(file).split(' ')[0]) / 1000]))
}

/** Empty if the process or thread has exited, or without Linux. */
function read (file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
