/** Arguments of Node with which a process sends itself a signal while it loads a module. */
export function signalWhileLoading (module: string, signal: string): string[] {
  // Evaluated in the module, since Node 24 runs no handler while a hook is pending; at its end, where it moves no line.
  const wait = `\nprocess.kill(process.pid, '${signal}'); await new Promise(resolve => setTimeout(resolve, 300));`
  const hook = `export async function load (url, context, next) {
    const loaded = await next(url, context)
    if (!url.endsWith('${module}')) return loaded
    return { ...loaded, source: Buffer.from(loaded.source) + ${JSON.stringify(wait)} }
  }`
  const preload = `import { register } from 'node:module'
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}))`
  // Node 26 deprecates register; its replacement is missing in Node 20.
  return ['--disable-warning=DEP0205', '--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}
