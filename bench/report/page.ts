import type { Results } from './results.js'
import { header, tables, wrapped } from './tables.js'

/** Characters of a table: with the font below, they fit into a window of 1,000 px. */
const WIDTH = 118

/** An HTML page that needs no other file. */
export function page (results: Results, pictures: Record<string, string>): string {
  const text = `${tables(results, { width: WIDTH, others: 'below' })}\n${wrapped(header(results), WIDTH).join('\n')}`
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
