import t from 'tap'
import { lost } from '../support/http/plant-clients.js'
import { withCompiler } from '../support/process/failing-calls.js'
import { runPowered } from './power-cut.js'
import { plantsInFile } from '../support/stores/sqlite-file.js'

t.test('after a power cut at any write or sync, every acknowledged plant is stored', withCompiler, async t => {
  let acknowledged = 0
  let cuts = 0
  // The log is first emptied after about 8,000 operations.
  for (const at of [10, 40, 900, ...Array.from({ length: 5 }, () => 200 + Math.floor(Math.random() * 16_000))]) {
    const { clients, program, path } = await runPowered(t, { POWER_CUT_AT: String(at) }, 120_000)
    const { code } = await program.ended
    if (code === 137) cuts++
    acknowledged += clients.acknowledged.length
    t.strictSame(lost(clients.sent, clients.acknowledged.length > 0 ? plantsInFile(path) : new Map()), [],
      `cut before operation ${at}: 0 of ${clients.acknowledged.length} are lost`)
  }
  t.equal(cuts, 8, 'the power was cut each time')
  t.ok(acknowledged > 1_000, `${acknowledged} acknowledged`)
})

t.test('on a disk that only pretends to sync, the same check fails', withCompiler, async t => {
  const { clients, path } = await runPowered(t, { POWER_CUT_AT: '7000', POWER_LIES: '1' }, 120_000)
  t.ok(clients.acknowledged.length > 100)
  let stored = new Map<bigint, Record<string, unknown>>()
  try {
    stored = plantsInFile(path)
  } catch {
    // There may be no table.
  }
  t.ok(lost(clients.sent, stored).length > 100)
})

/** The plants acknowledged before the log that contains them was synced. */
function acknowledgedTooEarly (trace: readonly string[]): string[] {
  const written = new Set<string>()
  const synced = new Set<string>()
  const early: string[] = []
  for (const line of trace) {
    const [what, file, ...plants] = line.split(' ')
    if (what === 'write' && file === 'plants.db-wal') for (const plant of plants) written.add(plant)
    if (what === 'sync' && file === 'plants.db-wal') for (const plant of written) synced.add(plant)
    if (what === 'answer') early.push(...plants.filter(plant => !synced.has(plant)))
  }
  return early
}

t.test('each 200 is sent after the log that contains the plant was synced', withCompiler, async t => {
  const { clients, trace } = await runPowered(t, {}, 300)
  const answers = trace.filter(line => line.startsWith('answer'))
  t.ok(answers.length > 20, `${answers.length} answers`)
  t.strictSame(Object.keys(clients.counts), ['200'])
  t.strictSame(acknowledgedTooEarly(trace), [])
  const unsynced = trace.filter(line => line !== 'sync plants.db-wal')
  t.ok(acknowledgedTooEarly(unsynced).length > 20, 'the same trace without syncs fails the check')
})
