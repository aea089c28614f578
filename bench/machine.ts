import { execFileSync } from 'node:child_process'
import { statfsSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'

export interface Machine {
  processor: string
  cores: number
  memory: string
  system: string
  node: string
  disk: string
  commit: string
  text: string
}

const tmpfs = 0x01021994

export function machine (folder: string): Machine {
  const processor = cpus()[0]?.model.trim() ?? 'unknown processor'
  const cores = availableParallelism()
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  const system = `${type()} ${release()}`
  const disk = statfsSync(folder).type === tmpfs ? 'in memory (tmpfs): durable writes cost nothing here' : 'disk'
  const node = `Node ${process.version.slice(1)}`
  return { processor, cores, memory, system, node, disk, commit: commit(), text: `${processor}, ${cores} cores, ${memory}, ${system}, ${node}` }
}

function commit (): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'unknown'
  }
}
