// Compares the lines of src that the tests leave unreached with .ci/unreached.txt, which has a reason for each, and
// fails if there is another. `npm run coverage` runs it after the tests.
//
// Counted are all processes and threads that the tests start and do not kill, and files that none of them loads.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const FOLDER = 'build/coverage'
const LIST = '.ci/unreached.txt'
// Brackets, or a comment: c8 counts all lines of a part that is not reached.
const SAYS_NOTHING = /: ([\])},\s]*|\/[/*].*|\*.*)$/

execFileSync('node_modules/.bin/c8', [
  'report', '--temp-directory', FOLDER, '--all', '--src', 'build/src', '--include', 'build/src/**',
  '--include', 'src/**', '--reporter', 'text', '--reporter', 'json', '--reports-dir', `${FOLDER}/report`
], { stdio: 'inherit' })

const report = JSON.parse(readFileSync(`${FOLDER}/report/coverage-final.json`, 'utf8'))
const unreached = Object.values(report).flatMap(unreachedIn)
// A line is known by its text, so that it may move.
const listed = readFileSync(LIST, 'utf8').split('\n').filter(line => line.startsWith('  ')).map(line => line.trim())
const files = new Set(listed.map(line => line.split(': ', 1)[0]))

const added = without(unreached, listed)
const gone = without(listed, [...files].flatMap(linesOf))
const reachedNow = without(listed, [...unreached, ...gone])
say('No test reaches this, maybe only in part. Write one, or say in the list why there is none', added)
say('This is no longer in src: drop it from the list', gone)
say('A test reached this. If one always does, drop it from the list', reachedNow)
if (added.length > 0) process.exitCode = 1

/** The lines of a file that no test reaches, or of which it does not reach a branch. */
function unreachedIn ({ path, s, statementMap, b, branchMap }) {
  const statements = Object.keys(s).filter(key => s[key] === 0).map(key => statementMap[key].start.line)
  const branches = Object.keys(b).filter(key => b[key][0] === 0).map(key => branchMap[key].loc.start.line)
  const numbers = new Set([...statements, ...branches])
  return linesOf(relative('.', path)).filter((line, index) => numbers.has(index + 1) && !SAYS_NOTHING.test(line))
}

/** The lines of a file as the list has them. */
function linesOf (file) {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8').split('\n').map(line => `${file}: ${line.trim()}`)
}

/** The lines that are not among the others, or more often than there. */
function without (lines, others) {
  const left = [...others]
  return lines.filter(line => {
    const index = left.indexOf(line)
    if (index !== -1) left.splice(index, 1)
    return index === -1
  })
}

function say (what, lines) {
  if (lines.length > 0) console.log(`\n${what} (${LIST}):\n${lines.map(line => `  ${line}`).join('\n')}`)
}
