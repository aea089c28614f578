import { prefill } from './prefill.js'

const [path = '', plants = '0'] = process.argv.slice(2)
process.once('disconnect', () => process.exit())
prefill(path, Number(plants), (done) => { process.send?.(done) })
process.disconnect()
