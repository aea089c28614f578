import { existsSync } from 'node:fs'
import t from 'tap'
import { soak } from './soak.js'

t.test('at half of the full load every create is stored, and file descriptors stay as they are', {
  skip: existsSync('/proc/self/fd') ? false : 'there is no /proc here'
}, async t => {
  const { statuses, descriptors, samples } = await soak({ seconds: 4, connections: 8 })
  t.strictSame(Object.keys(statuses), ['200'], JSON.stringify(statuses))
  t.ok(descriptors.most - descriptors.least <= 1, `${descriptors.least} to ${descriptors.most}`)
  t.ok(samples.length > 10)
})
