// Fails if the tests leave something of src unreached that `unreached.json` does not list with a reason.
//
//   COVERAGE=build/coverage npm test && node .ci/coverage.js
//
// Counted are all processes and threads that the tests start and do not kill, and files that none of them loads.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const folder = 'build/coverage'
const allowed = JSON.parse(readFileSync('.ci/unreached.json', 'utf8'))

execFileSync('node_modules/.bin/c8', [
  'report', '--temp-directory', folder, '--all', '--src', 'build/src', '--include', 'build/src/**', '--include', 'src/**',
  '--reporter', 'text', '--reporter', 'json', '--reports-dir', `${folder}/report`
], { stdio: 'inherit' })

const found = Object.values(JSON.parse(readFileSync(`${folder}/report/coverage-final.json`, 'utf8'))).flatMap(unreachedIn)
const surplus = found.filter(({ file, from, lines }) => !allowed.some(one =>
  one.file === file && one.from === from && one.lines >= lines))
const reached = allowed.filter(({ file, from }) => !found.some(one => one.file === file && one.from === from))

for (const { file, line, lines, from } of surplus) {
  console.log(`not reached: ${file}:${line}, ${lines} ${lines === 1 ? 'line' : 'lines'} from: ${from}`)
}
// Some depend on the machine, or on which of two events comes first.
for (const { file, from } of reached) console.log(`reached, though .ci/unreached.json lists it: ${file}: ${from}`)
if (surplus.length > 0) {
  console.log('Write a test that reaches it, or list it in .ci/unreached.json: its file, lines, from (the first line) and the reason.')
  process.exitCode = 1
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
