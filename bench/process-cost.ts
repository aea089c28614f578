import { readFileSync } from 'node:fs'

/** Seconds of processor time that a process has used, all its threads together; undefined where there is no /proc. */
export function processorSeconds (pid: number): number | undefined {
  try {
    // The second field is the program's name in brackets, which may hold spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '').split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return undefined
  }
}

/** The most memory it ever held, in MB. */
export function peakMemory (pid: number): number | undefined {
  try {
    const found = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return found === null ? undefined : Math.round(Number(found[1]) / 1024)
  } catch {
    return undefined
  }
}
