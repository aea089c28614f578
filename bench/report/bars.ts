import { createRequire } from 'node:module'
import type { SeriesOption } from 'echarts'

// One file: with `import`, its several hundred modules take half a second to load.
const { init } = createRequire(import.meta.url)('echarts') as typeof import('echarts')

/** A bar with a whisker from `low` to `high`, and a text at its end. */
export interface Bar { value: number, low: number, high: number, text: string, colour: keyof typeof colours }
/** Bars beside one another, one for each row; undefined where there is none. */
export interface Panel { name: string, tick: (value: number) => string, bars: Array<Bar | undefined> }
/** A row without bars is the heading of those below it. */
export interface Row { label: string, isHeading?: boolean }
export interface Picture { title: string, rows: Row[], panels: Panel[], captions: string[] }

// A picture inherits no colour from its page. The contrast of its texts is 6 on white, and on #0d1117 where a dark page
// is preferred.
const ink = '#57606a'
const darkInk = '#9198a1'
const colours = { ours: '#2f9e63', peer: '#8a97a8' }
const darkPeer = '#566377'
const style = `<style>@media (prefers-color-scheme: dark) {
[fill="${ink}"] { fill: ${darkInk} } [stroke="${ink}"] { stroke: ${darkInk} }
[fill="${colours.peer}"] { fill: ${darkPeer} }
}</style>`

// In pixels.
const ROW = 26
const WIDTH = 900
const LABELS = 270

/** Draws an SVG that needs no other file. */
export function drawBars ({ title, rows, panels, captions }: Picture): string {
  const height = rows.length * ROW + 140 + captions.length * 16
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height })
  const share = (WIDTH - 10 - LABELS) / panels.length
  chart.setOption({
    animation: false,
    textStyle: { fontFamily: 'system-ui, sans-serif', fontSize: 12, color: ink },
    title: [
      { text: title, left: 12, top: 10, textStyle: { color: ink, fontSize: 16 } },
      { subtext: captions.join('\n'), left: 12, bottom: 2, itemGap: 0, subtextStyle: { color: ink, lineHeight: 16 } }
    ],
    grid: panels.map((_, index) => ({
      left: LABELS + index * share, width: share - 105, top: 50, height: rows.length * ROW
    })),
    xAxis: panels.map(({ name, tick, bars }, gridIndex) => {
      const isEmpty = bars.every(bar => bar === undefined || bar.value === 0)
      return {
        ...axis,
        type: 'value',
        gridIndex,
        splitNumber: 2,
        name,
        // Without a bar there is nothing that ticks could measure.
        ...isEmpty ? { min: 0, max: 1, splitLine: { show: false } } : {},
        axisLabel: { color: ink, show: !isEmpty, formatter: tick }
      }
    }),
    yAxis: panels.map((_, gridIndex) => ({
      ...axis,
      type: 'category',
      gridIndex,
      inverse: true,
      data: rows.map(({ label, isHeading = false }) =>
        ({ value: label, textStyle: { fontWeight: isHeading ? 'bold' : 'normal' } })),
      axisTick: { show: false },
      axisLabel: { color: ink, show: gridIndex === 0 }
    })),
    series: panels.flatMap(({ bars }, index) => seriesOf(bars, index))
  })
  const svg = chart.renderToSVGString()
  chart.dispose() // its timer would keep the process alive
  return svg.replace(/<svg[^>]*>/, opening => `${opening}\n${style}`)
}

const axis = {
  nameLocation: 'middle',
  nameGap: 28,
  nameTextStyle: { color: ink, lineHeight: 15 },
  axisLine: { show: true, lineStyle: { color: ink } },
  splitLine: { lineStyle: { color: ink, opacity: 0.3 } }
} as const

/** At the ends of the whiskers are points with the texts: so the axis fits. */
function seriesOf (bars: ReadonlyArray<Bar | undefined>, index: number): SeriesOption[] {
  const at = { xAxisIndex: index, yAxisIndex: index, silent: true, emphasis: { disabled: true } }
  const placed = bars.flatMap((bar, row) => bar === undefined ? [] : [{ ...bar, row }])
  return [
    {
      ...at,
      type: 'bar',
      barWidth: 17,
      data: bars.map(bar => ({ value: bar?.value ?? 0, itemStyle: { color: colours[bar?.colour ?? 'peer'] } }))
    },
    {
      ...at,
      type: 'scatter',
      symbolSize: 0.1,
      itemStyle: { color: ink, opacity: 1 },
      data: placed.map(({ high, row, text }) => ({ value: [high, row], label: { formatter: text } })),
      label: { show: true, position: 'right', color: ink, lineHeight: 13 },
      markLine: {
        symbol: 'none',
        label: { show: false },
        lineStyle: { type: 'solid', color: ink, width: 1.5 },
        data: placed.map(({ low, high, row }) => [{ coord: [low, row] }, { coord: [high, row] }])
      }
    }
  ]
}
