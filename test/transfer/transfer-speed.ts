/**
 * Measures the speed and memory of exports, imports and backups on SQLite, including startup and exit of the process:
 *
 *   npm run compile && node build/test/transfer/transfer-speed.js [plants]     1,000,000 by default; Linux
 */
import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { measuredRun } from './measured-run.js'
import { fillMany } from './plants.js'

const plants = Number(process.argv[2] ?? 1_000_000)
const folder = mkdtempSync(join(tmpdir(), 'plant-store-transfer-'))
const file = join(folder, 'plants.ndjson')

async function measure (name: string, args: string[], dataDir: string): Promise<void> {
  const { ms, megabytes } = await measuredRun([...args, '--quiet'], { DATA_DIR: join(folder, dataDir) })
  console.log(`${name.padEnd(34)} ${Math.round(plants / ms * 1_000).toLocaleString('en').padStart(9)} plants a second, resident MB in fifths ${megabytes.join(', ')}`)
}

/** Writes the same lines in another order: every stride-th line, from each start. */
async function shuffle (from: string, to: string): Promise<void> {
  const lines: string[] = []
  for await (const line of createInterface({ input: createReadStream(from) })) lines.push(line)
  const output = createWriteStream(to)
  const stride = 7_919
  for (let start = 0; start < stride; start++) {
    let part = ''
    for (let i = start; i < lines.length; i += stride) part += `${lines[i]}\n`
    output.write(part)
  }
  await finished(output.end())
}

try {
  fillMany(join(folder, 'first'), plants)
  await measure('export', ['export', file], 'first')
  console.log(`${(statSync(file).size / plants).toFixed(0)} bytes a line`)
  await measure('import, into an empty store', ['import', file], 'second')
  await measure('import again, all there', ['import', file], 'second')
  const shuffled = join(folder, 'shuffled.ndjson')
  await shuffle(file, shuffled)
  await measure('import, ids in no order', ['import', shuffled], 'third')
  await measure('backup', ['backup', join(folder, 'backup.db')], 'first')
} finally {
  rmSync(folder, { recursive: true })
}
