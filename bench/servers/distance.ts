import { delayingProxy } from '../delaying-proxy.js'
import { announce, endOnSignal } from './announce.js'

const [host = '127.0.0.1', port = '27017', milliseconds = '0'] = process.argv.slice(2)
const proxy = await delayingProxy(Number(port), host, Number(milliseconds))
announce(proxy.port)
endOnSignal(proxy.close)
