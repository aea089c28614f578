import { escaped } from './drawing.js'

/** An HTML page that needs no other file. */
export function page (head: string, lines: readonly string[], pictures: readonly string[], tables: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>plant-store, measured</title>
<style>:root { color-scheme: light dark } body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem } pre { overflow-x: auto } svg { max-width: 100%; height: auto; display: block; margin: 1rem 0 }</style>
<h1>plant-store, measured</h1>
<ul>${lines.map(line => `<li>${escaped(line)}</li>`).join('\n')}</ul>
${pictures.join('\n')}
<pre>${escaped(tables)}${escaped(head)}</pre>
</html>
`
}
