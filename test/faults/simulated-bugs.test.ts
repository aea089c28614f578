import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { bugs, type Bug } from '../simulation/bugs.js'

const build = fileURLToPath(new URL('../..', import.meta.url))

/** Runs the simulation on a copy of the program with the bug; returns its output. */
async function simulateWith ({ file, find, replace }: Bug): Promise<string> {
  mkdirSync(join(build, 'bugs'), { recursive: true })
  const copy = mkdtempSync(join(build, 'bugs', 'bug-'))
  try {
    for (const folder of ['src', 'test/simulation', 'test/support']) {
      cpSync(join(build, folder), join(copy, folder), { recursive: true })
    }
    const path = join(copy, 'src', file)
    const source = readFileSync(path, 'utf8')
    if (source.split(find).length < 2) throw new Error(`${file} has no «${find}»`)
    writeFileSync(path, source.replace(find, replace))
    const words = [join(copy, 'test/simulation/simulate.js'), '--count', '10000']
    const child = spawn(process.execPath, words, { env: { ...process.env, NODE_OPTIONS: '' } })
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')])
    return output
  } finally {
    rmSync(copy, { recursive: true })
  }
}

for (const bug of bugs) {
  t.test(`within 10,000 stories the simulation finds ${bug.name}`, async t => {
    const output = await simulateWith(bug)
    t.match(output, /^seed \d+: .+/)
    t.comment(output.split('\n', 1)[0])
  })
}
