import { parseArgs } from 'node:util'
import type { Kind } from './deployment.js'
import { ScriptedMongo } from './scripted-mongo.js'

const { values } = parseArgs({
  options: {
    as: { type: 'string', default: 'standalone' },
    port: { type: 'string', default: '0' },
    delay: { type: 'string', default: '0' }
  }
})
const kinds: readonly string[] = ['standalone', 'replica set', 'mongos'] satisfies Kind[]
if (!kinds.includes(values.as)) throw new RangeError(`--as must be one of ${kinds.join(', ')}`)

const mongo = await ScriptedMongo.start(undefined, {
  as: values.as as Kind, port: Number(values.port), delay: Number(values.delay), record: false
})
console.log(mongo.url)

// The parent may die without a signal: its end of standard input closes with it.
process.stdin.on('end', end).resume()
process.on('SIGTERM', end)
process.on('SIGINT', end)

function end () {
  mongo.close().then(() => process.exit())
}
