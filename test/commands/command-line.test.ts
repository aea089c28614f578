import { readFileSync } from 'node:fs'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { readCommand, CommandLineError, type Command } from '../../src/service/commands/command-line.js'
import { environment } from '../../src/service/configuration/configuration.js'
import { help } from '../../src/service/commands/help.js'
import { showProgress } from '../../src/service/commands/run-copy.js'
import { projectFile } from '../support/process/program.js'

t.test('every command is parsed with its file and its options, in any order', async t => {
  const cases: [args: string[], command: Partial<Command>][] = [
    [[], { name: 'serve' }],
    [['serve'], { name: 'serve' }],
    [['migrate'], { name: 'migrate', quiet: false }],
    [['-q', 'migrate'], { name: 'migrate', quiet: true }],
    [['export'], { name: 'export', file: '-', quiet: false }],
    [['export', '-'], { name: 'export', file: '-', quiet: false }],
    [['export', '--quiet', 'plants.ndjson'], { name: 'export', file: 'plants.ndjson', quiet: true }],
    [['import', 'plants.ndjson', '--quiet'], { name: 'import', file: 'plants.ndjson', quiet: true }],
    [['import', '--', '--quiet'], { name: 'import', file: '--quiet', quiet: false }],
    [['backup', 'plants.db'], { name: 'backup', file: 'plants.db', quiet: false }],
    [['help'], { name: 'help' }],
    [['export', '--help'], { name: 'help' }],
    [['-h'], { name: 'help' }],
    [['--version'], { name: 'version' }],
    [['-v'], { name: 'version' }]
  ]
  for (const [args, command] of cases) t.match(readCommand(args), command, args.join(' '))
})

t.test('an invalid argument is refused with its name and a hint', async t => {
  const cases: [args: string[], message: RegExp][] = [
    [['sevre'], /^"sevre" is not a command; plant-store --help/],
    [['serve', 'now'], /^serve does not take "now"; plant-store --help/],
    [['--quiet'], /^serve does not take "--quiet"; /],
    [['migrate', 'plants.db'], /^migrate does not take "plants\.db"; /],
    [['export', 'a', 'b'], /^export does not take "b"; /],
    [['import', '--quite'], /^Unknown option '--quite'; plant-store --help/],
    [['export', '--quiet=no'], /--quiet' does not take an argument; plant-store --help/],
    [['backup'], /^backup takes the name of a file: plant-store backup FILE; /],
    [['backup', '-'], /^backup takes the name of a file/],
    [['backup', ''], /^an argument is empty; /],
    [['export', ''], /^an argument is empty; /],
    [['import', ''], /^an argument is empty; /],
    [['backup', 'a', 'b'], /^backup does not take "b"; /]
  ]
  for (const [args, message] of cases) {
    t.throws(() => readCommand(args), { constructor: CommandLineError, message }, args.join(' '))
  }
})

t.test('the help names every command and option, and fits a terminal of 80 columns', async t => {
  const names = ['serve', 'export', 'import', 'backup', 'migrate', '--quiet', '--help', '--version', 'Exit codes']
  for (const name of names) t.match(help, name)
  t.strictSame(help.split('\n').filter(line => line.length > 80), [])
})

t.test('the help and the README have every variable, with its default', async t => {
  const readme = readFileSync(projectFile('README.md'), 'utf8')
  for (const [name, { default: defaultValue }] of Object.entries(environment.properties)) {
    const [, meaning = ''] = new RegExp(`^  ${name} ((.|\\n {22})*)$`, 'm').exec(help) ?? []
    t.match(meaning.replace(/\s+/g, ' '), defaultValue === undefined ? /\w\)?$/ : `(default: ${defaultValue})`, name)
    const isOf = (line: string) => line.startsWith('| `') && line.split('|')[1]?.includes(`\`${name}\``)
    const row = readme.split('\n').find(isOf) ?? ''
    t.match(row, defaultValue === undefined ? '|' : `\`${defaultValue}\``, name)
  }
})

/** Shows progress on a stream; returns what was written, which `take` empties. */
function show (t: Test, { isTTY = false, columns = 80 } = {}) {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let text = ''
  const output = { isTTY, columns, write: (more: string) => { text += more; return true } }
  const progress = showProgress({ name: 'export', quiet: false }, 'a store', output, () => '50 %, 1,500,000 plants')
  const take = () => {
    const taken = text
    text = ''
    return taken
  }
  t.equal(take(), isTTY ? '\rexport: a store\x1b[K\n' : 'export: a store\n')
  return { ...progress, take }
}

for (const columns of [200, 80, 20, 5, 0]) {
  t.test(`on a terminal of ${columns} columns the line fits, and leaves the last column free`, async t => {
    const { take } = show(t, { isTTY: true, columns })
    mock.timers.tick(100)
    t.equal(take(), `\r${'export: 50 %, 1,500,000 plants'.slice(0, (columns || 80) - 1)}\x1b[K`)
  })
}

t.test('on a terminal progress is redrawn ten times a second, and other lines are printed above it', async t => {
  const { line, end, take } = show(t, { isTTY: true })
  mock.timers.tick(1_000)
  t.equal(take().split('\r').length - 1, 10)
  line('line 7: bad')
  t.equal(take(), '\rline 7: bad\x1b[K\n')
  end()
  t.equal(take(), '\rexport: 50 %, 1,500,000 plants\x1b[K\n')
  mock.timers.tick(1_000)
  t.equal(take(), '')
})

t.test('to a pipe a line is written every five seconds, and one at the end', async t => {
  const { line, end, take } = show(t)
  mock.timers.tick(11_000)
  line('id 7: bad')
  end()
  t.match(take(), /^(export: 50 %.*\n){2}id 7: bad\n(export: 50 %.*\n)$/)
})
