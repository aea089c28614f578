import { readFileSync } from 'node:fs'
import t from 'tap'
import { readCommand, UnknownCommand, usage, type Command } from '../../../src/service/command-line.js'
import { readConfiguration } from '../../../src/service/config/configuration.js'
import { projectFile } from '../../support/process/project.js'

t.test('every command is parsed with its file and its options, in any order', async t => {
  const cases: [args: string[], command: Command][] = [
    [[], { name: 'serve' }],
    [['serve'], { name: 'serve' }],
    [['migrate'], { name: 'migrate', quiet: false }],
    [['-q', 'migrate'], { name: 'migrate', quiet: true }],
    [['export'], { name: 'export', file: undefined, quiet: false }],
    [['export', '-'], { name: 'export', file: undefined, quiet: false }],
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
  for (const [args, command] of cases) t.strictSame(readCommand(args), command, args.join(' '))
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
    [['backup', ''], /^an argument is empty; /],
    [['export', ''], /^an argument is empty; /],
    [['import', ''], /^an argument is empty; /],
    [['backup', 'a', 'b'], /^backup does not take "b"; /]
  ]
  for (const [args, message] of cases) {
    t.throws(() => readCommand(args), new UnknownCommand(), args.join(' '))
    t.throws(() => readCommand(args), { message }, args.join(' '))
  }
})

t.test('the help names every command and option, and fits a terminal of 132 columns', async t => {
  for (const name of ['serve', 'export', 'import', 'backup', 'migrate', '--quiet', '--help', '--version', 'Exit codes']) t.match(usage, name)
  t.strictSame(usage.split('\n').filter(line => line.length > 132), [])
})

t.test('the README, the help and the configuration have the same variables and defaults', async t => {
  const values: Record<string, unknown> = { ...readConfiguration({}) }
  const rows = [...readFileSync(projectFile('README.md'), 'utf8').matchAll(/^\| (`[A-Z_]+`.*?) \| (.*?) ?\|/gm)]
    .map(([, names = '', defaults = '']) => ({ names: words(names), defaults: words(defaults) }))
  t.strictSame(Object.keys(values).filter(name => /^[A-Z]/.test(name) && !rows.some(({ names }) => names.includes(name))), [])
  t.ok(rows.length > 10)
  for (const { names, defaults } of rows) {
    const line = usage.split('\n').find(line => line.trim().startsWith(names.join(', '))) ?? ''
    t.not(line, '', names.join())
    if (defaults[0] !== undefined) t.match(line, `(default: ${defaults[0]}`, names.join())
    for (const [place, name] of names.entries()) t.equal(String(values[name] ?? ''), defaults[place] ?? '', name)
  }
})

function words (cell: string): string[] {
  return [...cell.matchAll(/`(.*?)`/g)].map(([, word = '']) => word)
}
