import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../until.js'

/**
 * Holds one process of a service during its startup: the next one that loads a module.
 * @param module the end of its URL; by default it is loaded when the store opens
 */
export function heldStart (folder: string, module = '/service/app.js') {
  const [next, held] = [join(folder, 'hold-next'), join(folder, 'held')]
  const hook = `
    import { existsSync, renameSync, writeFileSync } from 'node:fs'
    import { setTimeout as sleep } from 'node:timers/promises'
    export async function load (url, context, next) {
      if (url.endsWith(${JSON.stringify(module)})) {
        // Only one process can rename the file.
        try { renameSync(${JSON.stringify(next)}, ${JSON.stringify(held)}) } catch { return next(url, context) }
        writeFileSync(${JSON.stringify(held)}, String(process.pid))
        while (existsSync(${JSON.stringify(held)})) await sleep(20)
      }
      return next(url, context)
    }`
  const dataUrl = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`
  // Node 26 deprecates register; its replacement is missing in Node 20.
  const preload = ['--disable-warning=DEP0205', '--import', dataUrl(`import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hook))})`)]
  return {
    /** Arguments of Node. */
    preload,
    hold: () => { writeFileSync(next, '') },
    /** Resolves with the id of the process. */
    isHeld: async () => {
      await until(() => existsSync(held) && readFileSync(held, 'utf8') !== '')
      return Number(readFileSync(held, 'utf8'))
    },
    release: () => { rmSync(held) }
  }
}
