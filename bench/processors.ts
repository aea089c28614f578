import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Lists as util-linux' taskset takes them, such as `0-2,4`. */
export interface Processors { all: string, servers: string, generator: string }

/**
 * The processors that this process may use: the last one for the load generator, the others for servers; undefined where
 * there are no two, or no taskset.
 */
export function processors (): Processors | undefined {
  const all = allowed(process.pid)
  if (all === undefined || spawnSync('taskset', ['-p', String(process.pid)]).status !== 0) return undefined
  const numbers = all.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, at) => first + at)
  })
  const generator = numbers.pop()
  return numbers.length === 0 ? undefined : { all, servers: numbers.join(), generator: String(generator) }
}

/**
 * Runs what is to be measured with the load generator on a processor of its own, and then gives both processes all
 * processors again. Without taskset, or with a single processor, they share what is there.
 */
export async function apart<T> (generator: number, server: number | undefined, measure: () => Promise<T>): Promise<T> {
  const shared = processors()
  if (shared === undefined) return await measure()
  keepOn(shared.generator, [generator])
  keepOn(shared.servers, family(server))
  try {
    return await measure()
  } finally {
    keepOn(shared.all, [generator, ...family(server)])
  }
}

/** All threads of the processes. One that has ended meanwhile needs nothing. */
function keepOn (list: string, pids: readonly number[]): void {
  for (const pid of pids) spawnSync('taskset', ['-a', '-p', '-c', list, String(pid)])
}

/** A process and those that it started, such as cluster workers. */
function family (pid: number | undefined): number[] {
  if (pid === undefined) return []
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean)
    return [pid, ...children.flatMap((child) => family(Number(child)))]
  } catch {
    return [pid]
  }
}

function allowed (pid: number): string | undefined {
  try {
    return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
  } catch {
    return undefined
  }
}
