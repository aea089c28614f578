// Lists the lines and branches of src that the tests leave unreached, and fails if they are too many.
//
//   COVERAGE=build/coverage npm test && node .ci/coverage.js
//
// Counted are all processes and threads that the tests start and do not kill, and files that none of them loads.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const folder = 'build/coverage'
// In %.
const LEAST = { lines: 97, branches: 93 }

execFileSync('node_modules/.bin/c8', [
  'report', '--temp-directory', folder, '--all', '--src', 'build/src', '--include', 'build/src/**', '--include', 'src/**',
  '--reporter', 'text', '--reporter', 'json', '--reporter', 'json-summary', '--reports-dir', `${folder}/report`
], { stdio: 'inherit' })

const found = Object.values(JSON.parse(readFileSync(`${folder}/report/coverage-final.json`, 'utf8'))).flatMap(unreachedIn)
for (const { file, line, lines, from } of found) {
  console.log(`not reached: ${file}:${line}, ${lines} ${lines === 1 ? 'line' : 'lines'} from: ${from}`)
}
const totals = JSON.parse(readFileSync(`${folder}/report/coverage-summary.json`, 'utf8')).total
for (const [kind, least] of Object.entries(LEAST)) {
  const { pct } = totals[kind]
  console.log(`${pct} % of the ${kind} are reached`)
  if (pct < least) {
    console.log(`That is less than ${least} %: write a test that reaches what a change has added.`)
    process.exitCode = 1
  }
}

/** The groups of adjacent lines of a file that no test reaches, or of which it does not reach a branch. */
function unreachedIn ({ path, s, statementMap, b, branchMap }) {
  const statements = Object.keys(s).filter(key => s[key] === 0).map(key => statementMap[key].start.line)
  const branches = Object.keys(b).filter(key => b[key][0] === 0).map(key => branchMap[key].loc.start.line)
  const text = readFileSync(path, 'utf8').split('\n')
  const groups = []
  for (const line of [...new Set([...statements, ...branches])].sort((a, b) => a - b)) {
    const last = groups.at(-1)
    if (last !== undefined && last.line + last.lines === line) last.lines++
    else groups.push({ file: relative('.', path), line, lines: 1, from: text[line - 1].trim() })
  }
  return groups
}
