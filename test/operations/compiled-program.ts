import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('../../', import.meta.url))
const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: true }

/**
 * The program, compiled from src as it is now: dozens of processes start in these tests, each of which would take
 * seconds to compile it for itself. It lies in node_modules, once for each state of the sources.
 */
export function compiledProgram (): string {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.ts')).sort()
    .map(path => [path, readFileSync(join(root, 'src', path), 'utf8')] as const)
  const state = createHash('sha256').update(JSON.stringify(sources)).digest('hex').slice(0, 16)
  const folder = join(root, 'node_modules/.cache/plant-store', state)
  if (!existsSync(folder)) {
    const making = `${folder}.${process.pid}`
    for (const [path, source] of sources) {
      const output = join(making, 'dist', path.replace(/ts$/, 'js'))
      mkdirSync(dirname(output), { recursive: true })
      writeFileSync(output, ts.transpileModule(source, { compilerOptions }).outputText)
    }
    cpSync(join(root, 'package.json'), join(making, 'package.json'))
    try {
      renameSync(making, folder)
    } catch {
      // Another test file was first.
      rmSync(making, { recursive: true })
    }
  }
  return join(folder, 'dist/server/main.js')
}
