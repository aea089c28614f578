/*
 * Reads the results of a run of tap, and lists the skipped tests with their reasons.
 *
 *   node build/test/support/check-run.js [--coverage]
 *
 * With REQUIRE_ALL=1, a skipped test is a failure; with --coverage, so is coverage below the floors.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const RESULTS = '.tap/test-results'
const faults: string[] = []

const files = readdirSync(RESULTS, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.tap'))
if (files.length === 0) faults.push('no test file was run')
const skipped = files.flatMap(file => [...readFileSync(join(RESULTS, file), 'utf8').matchAll(/^\s*ok \d+ - (.*) # (?:SKIP|TODO) ?(.*)$/gmi)]
  .map(([, name, reason]) => ({ file: file.replace(/\.js\.tap$/, ''), name, reason })))
if (skipped.length > 0) console.log(`${skipped.length} skipped:`)
for (const { file, name, reason } of skipped) {
  console.log(`  ${file}: ${name}: ${reason}`)
  if (reason === '') faults.push(`${name} is skipped without a reason`)
}
if (skipped.length > 0 && process.env.REQUIRE_ALL === '1') faults.push('REQUIRE_ALL is 1, and tests were skipped')

/** In percent: some points below the coverage of a run in which every test that can be skipped is skipped. */
const floors = { lines: 96, branches: 92, functions: 95 }
if (process.argv.includes('--coverage')) {
  const { total } = JSON.parse(readFileSync('.tap/report/coverage-summary.json', 'utf8'))
  for (const [kind, floor] of Object.entries(floors)) {
    const { pct } = total[kind]
    if (!(pct >= floor)) faults.push(`${pct} % of ${kind} are covered, fewer than ${floor} %`)
  }
}

for (const fault of faults) console.error(`not ok: ${fault}`)
process.exit(faults.length === 0 ? 0 : 1)
