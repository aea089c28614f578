import { medianOf, rangeOf } from './figures.js'
import type { Results } from './results.js'
import { tables, wrapped } from './tables.js'

/** The command, the machine and the versions of a run. */
export function header (results: Results): string {
  const { date, command, method, machine, versions, mongodb, url } = results
  const lines = [
    command,
    `${method.isPublished ? 'a published run' : 'a quick run (--published makes a long one)'}; rounds: ` +
    `${method.rounds}, each of ${method.seconds} s (latency: ${method.latencySeconds} s) after a lead-in of ` +
    `${method.leadIn} s; warm-up of each server ${method.warmUp} s`,
    steadiness(results),
    `${url === undefined ? '' : 'the load generator: '}${machine}; ${date.slice(0, 16).replace('T', ' ')} UTC`,
    Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', '),
    mongodb?.description
  ]
  return `${lines.filter(Boolean).join('\n')}\n`
}

/** How far the rounds of the bare server differ, which is always the same program. */
function steadiness ({ method, measurements }: Results): string {
  const bare = measurements.find(({ spec }) => spec.server === 'bare' && spec.case !== 'price')
  const range = bare && rangeOf(bare.rounds, 'perSecond')
  const middle = bare && medianOf(bare, 'perSecond')
  if (range === undefined || middle === undefined || method.rounds === 1) return ''
  const differs = (range.high - range.low) / middle * 100
  const wasBusy = differs > 10 ? ': the machine was not idle' : ''
  return `the rounds of bare node:http differ by ${differs.toFixed(0)} %${wasBusy}`
}

/** An HTML page that needs no other file. */
export function page (results: Results, pictures: Record<string, string>): string {
  const text = `${tables(results)}\n${wrapped(header(results)).join('\n')}`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>plant-store, measured</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
pre { font-size: 13px; overflow-x: auto }
</style>
<h1>plant-store, measured</h1>
${Object.values(pictures).join('\n')}
<pre>${text.replace(/[&<>]/g, sign => `&#${sign.charCodeAt(0)};`)}</pre>
</html>
`
}
