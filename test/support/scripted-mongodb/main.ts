// Runs a single server as a separate process, prints its URL, and exits with its parent.
import { ScriptedMongo } from './scripted-mongo.js'

const mongo = await ScriptedMongo.start(undefined, { as: 'standalone' })
console.log(mongo.url)

// The parent may die without a signal, which closes standard input.
process.stdin.on('end', end).resume()
process.on('SIGTERM', end)
process.on('SIGINT', end)

function end () {
  mongo.stop().then(() => process.exit())
}
