import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { processorTime } from '../run/processor-time.js'
import type { Generator } from './generator.js'
import { growingIds, templates } from './requests.js'
import type { LoadJob } from './window.js'

/**
 * Closed loops of creates by wrk (https://github.com/wg/wrk), which costs a fraction of a generator in JavaScript: for
 * the ceiling, where cores are few. All of its run counts.
 */
export function wrk (folder: string): Generator {
  return {
    async run (job) {
      const script = join(folder, 'creates.lua')
      writeFileSync(script, creates(job))
      const seconds = `${Math.ceil(job.leadIn + job.duration)}s`
      const used = job.pid === undefined ? undefined : processorTime(job.pid)
      const { stdout } = await promisify(execFile)('wrk', ['--threads', '1', '--connections', String(job.connections), '--duration', seconds, '--script', script, job.url])
      const processor = used?.()
      const [, figures = '', wrong = ''] = /RESULT ((?:[\d.]+ ){8})(.*)/s.exec(stdout) ?? []
      const [answers = 0, micros = 0, busy = 0, p50 = 0, p99 = 0, p999 = 0, max = 0, errors = 0] = figures.trim().split(' ').map(Number)
      if (answers === 0 || errors > 0 || wrong !== '') throw new Error(`wrk: ${errors} requests failed; ${wrong === '' ? stdout : wrong}`)
      return {
        answers,
        acknowledged: answers,
        perSecond: (answers / micros) * 1e6,
        latency: { p50, p99, p999, max },
        generatorBusy: (busy * 1e6) / micros,
        processor
      }
    }
  }
}

/** One thread, so that one count makes all ids. An answer has to be a 200 with the body of one of the plants. */
function creates ({ url, token }: LoadJob): string {
  const all = templates(url, token)
  const list = (part: 'before' | 'after' | 'reply'): string => `{ ${all.map(one => JSON.stringify(one[part])).join(', ')} }`
  return `local id, count, main = ${growingIds()()}, 0, nil
local before, after, right = ${list('before')}, ${list('after')}, {}
for _, reply in ipairs(${list('reply')}) do right[reply] = true end
wrong = ""
function setup (thread) main = thread end
function request ()
  count = count + 1
  local kind = count % ${all.length} + 1
  return before[kind] .. string.format("%.0f", id + count) .. after[kind]
end
function response (status, headers, body)
  if status ~= 200 or not right[body] then wrong = status .. " " .. body end
end
function done (summary, latency)
  local errors = summary.errors
  io.write(string.format("\\nRESULT %d %d %f %d %d %d %d %d ", summary.requests, summary.duration, os.clock(), latency:percentile(50),
    latency:percentile(99), latency:percentile(99.9), latency.max, errors.connect + errors.read + errors.write + errors.timeout))
  io.write(main:get("wrong"))
end`
}
