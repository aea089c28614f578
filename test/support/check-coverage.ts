// Fails if the last run of tap covers less than the floors.
import { readFileSync } from 'node:fs'

/** In percent: some points below the coverage of a run in which every test that can be skipped is skipped. */
const floors = { lines: 96, branches: 92, functions: 95 }

const { total } = JSON.parse(readFileSync('.tap/report/coverage-summary.json', 'utf8'))
for (const [kind, floor] of Object.entries(floors)) {
  const { pct } = total[kind]
  if (pct >= floor) continue
  console.error(`not ok: ${pct} % of ${kind} are covered, fewer than ${floor} %`)
  process.exitCode = 1
}
