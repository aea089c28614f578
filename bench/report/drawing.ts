import type { Spread } from '../statistics.js'

export const colours = { ours: '#2f9e63', bare: '#c58a2b', peer: '#7a8797', lines: ['#2f9e63', '#4c7fd0', '#c58a2b', '#b0559b', '#d0604c'] }
const width = 900

/** An SVG with a title, a caption and its own light or dark background: an image inherits none. */
export function picture (title: string, caption: string, height: number, parts: string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" class="picture">
<style>.picture { fill: #1f2328 } .paper { fill: #ffffff; stroke: #d0d7de } .ink { stroke: #1f2328; fill: none }
@media (prefers-color-scheme: dark) { .picture { fill: #e6edf3 } .paper { fill: #0d1117; stroke: #30363d } .ink { stroke: #e6edf3 } }</style>
<rect class="paper" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>
<text x="20" y="34" font-size="17" font-weight="600">${escaped(title)}</text>
${parts.join('\n')}
<g opacity=".75">${text(20, height - 1 - caption.split('\n').length * 15, caption)}</g>
</svg>
`
}

export const escaped = (text: string): string => text.replace(/[&<>"]/g, sign => `&#${sign.charCodeAt(0)};`)

export function text (x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end' = 'start', colour?: string): string {
  return content.split('\n').map((line, row) => `<text x="${x.toFixed(1)}" y="${(y + row * 15).toFixed(1)}" text-anchor="${anchor}"${colour === undefined ? '' : ` fill="${colour}"`}>${escaped(line)}</text>`).join('\n')
}

export function line (x1: number, y1: number, x2: number, y2: number, style = 'class="ink"'): string {
  return `<path d="M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}" ${style}/>`
}

export const faint = 'stroke="#808080" stroke-opacity=".35"'

export interface Bar {
  all: Spread | undefined
  part?: number | undefined // drawn solid, the rest pale
  label: string
  colour: string
}

/** Horizontal bars, one for each row, with whiskers from the lowest to the highest round. */
export function bars (title: string, x: number, y: number, length: number, all: readonly Bar[]): string[] {
  const most = Math.max(...all.map(bar => bar.all?.high ?? 0), 1)
  const unit = 10 ** Math.floor(Math.log10(most / 4))
  const step = [1, 2, 5, 10].map(one => one * unit).find(one => most / one <= 4) ?? most
  const at = (value: number): number => x + value / most * length
  const bottom = y + all.length * 28
  const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, place) => place * step)
  const rows = all.flatMap(({ all: spread, part, label, colour }, row) => {
    if (spread === undefined) return []
    const [middle, end] = [y + row * 28 + 14, at(spread.high)]
    const bar = (value: number, opacity: number): string => `<rect x="${x}" y="${middle - 9}" width="${(at(value) - x).toFixed(1)}" height="18" fill="${colour}" fill-opacity="${opacity}"/>`
    const whisker = [spread.low, spread.high].map(value => line(at(value), middle - 4, at(value), middle + 4))
    return [
      bar(spread.median, part === undefined ? 1 : 0.45),
      ...(part === undefined ? [] : [bar(part, 1)]),
      line(at(spread.low), middle, end, middle),
      ...whisker,
      text(end + 7, middle + 4, label)
    ]
  })
  const grid = ticks.flatMap(value => [line(at(value), y, at(value), bottom, faint), text(at(value), bottom + 16, value >= 1000 ? `${value / 1000}k` : String(value), 'middle')])
  return [...grid, ...rows, text(x, bottom + 34, title)]
}
