// The command `npm run bench`: compiles what is about to run, and only if it has changed. Types are not checked, which
// takes much longer: `npm test` does that. First the options, so that --help and mistakes are answered at once.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const project = resolve(import.meta.dirname, '..')
const output = join(project, 'bench/build')

/** @param paths of files or folders below the project */
async function compile (...paths) {
  const changed = paths.flatMap(sourcesOf).filter(source => timeOf(source) !== timeOf(compiled(source)))
  if (changed.length === 0) return
  const { default: ts } = await import('typescript')
  // As in tsconfig.json. NodeNext would look for a package.json for each file.
  const compilerOptions = {
    target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true
  }
  for (const source of changed) {
    const text = readFileSync(join(project, source), 'utf8')
    const { outputText } = ts.transpileModule(text, { compilerOptions, fileName: source })
    const { atime, mtime } = statSync(join(project, source))
    mkdirSync(dirname(compiled(source)), { recursive: true })
    writeFileSync(compiled(source), outputText)
    utimesSync(compiled(source), atime, mtime)
  }
  copyFileSync(join(project, 'package.json'), join(output, 'package.json'))
}

function sourcesOf (path) {
  if (path.endsWith('.ts')) return [path]
  const files = readdirSync(join(project, path), { recursive: true }).filter(name => name.endsWith('.ts'))
  return files.map(file => join(path, file))
}

const compiled = source => join(output, source.replace(/\.ts$/, '.js'))

/** In whole milliseconds, which can be copied exactly. */
const timeOf = path => statSync(resolve(project, path), { throwIfNoEntry: false })?.mtime.getTime()

const others = ['bench', 'src', 'test/support/scripted-mongodb', 'test/support/process/lasting-port.ts']

await compile('bench/main.ts', 'bench/plan')
const { main } = await import(pathToFileURL(join(output, 'bench/main.js')).href)
// Servers may still be running after an error: they are killed at exit.
process.exit(await main(process.argv.slice(2), async () => await compile(...others)))
