// Imports the package by its name, creates a store, and prints every module loaded by then. Runs in a host's folder.
import { createRequire, register } from 'node:module'
import { MessageChannel } from 'node:worker_threads'

const hooks = `
  let port
  export function initialize (data) { port = data.port }
  export async function load (url, context, next) {
    port.postMessage(url)
    return next(url, context)
  }`
const { port1, port2 } = new MessageChannel()
const urls = []
port1.on('message', url => { urls.push(url) })
register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: { port: port2 }, transferList: [port2] })

const { sqlitePlantStore } = await import('plant-store')
sqlitePlantStore({ path: 'plants.db' })
const required = createRequire(import.meta.url).cache
setTimeout(() => {
  console.log(JSON.stringify([...urls, ...Object.keys(required)]))
  port1.close()
}, 50)
