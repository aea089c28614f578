import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Seconds of processor time of a process, and of its busiest thread. */
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
  return new Map(files.map(file => [file, Number(read(file).split(' ')[0]) / 1e9]))
}

export const canRunApart = (): boolean => availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0

/** Runs an open loop with the generator alone on the last processor: what it took from the server would be latency. */
export async function apart<T> (run: () => Promise<T>, generator?: number, server?: number): Promise<T> {
  const [, all = '', first = '', last = ''] = /^Cpus_allowed_list:\s*((\d+)\S*\b(\d+))$/m.exec(read('/proc/self/status')) ?? []
  if (generator === undefined || server === undefined || all === '') return await run()
  keepOn(last, generator)
  keepOn(`${first}-${Number(last) - 1}`, server)
  try {
    return await run()
  } finally {
    for (const pid of [generator, server]) keepOn(all, pid)
  }
}

/** @param processors a list such as `0-2,5` */
function keepOn (processors: string, pid: number): void {
  spawnSync('taskset', ['-a', '-p', '-c', processors, String(pid)])
}

/** Empty if the process or thread has exited, or without Linux. */
function read (file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
