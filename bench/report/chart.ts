import { init } from 'echarts'
import type { EChartsOption } from 'echarts'

/** Stand-ins that are replaced in the drawing, so that the page's own colours, light or dark, reach into it. */
export const ink = '#010203'
const faint = '#010204'

export const palette = { ours: '#2f9e63', peer: '#8a97a8', ceiling: '#c58a2b', lines: ['#2f9e63', '#4c7fd0', '#c58a2b', '#b0559b', '#8a97a8', '#d0604c'] }
export const font = 'system-ui, -apple-system, sans-serif'

/** Drawn without a browser: an SVG text that takes its text colour from around it. */
export function drawn (option: EChartsOption, width: number, height: number): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height })
  try {
    chart.setOption({ animation: false, backgroundColor: 'transparent', textStyle: { fontFamily: font, color: ink }, ...option })
    return chart.renderToSVGString()
      .replaceAll(ink, 'currentColor')
      .replaceAll(faint, 'rgba(128,128,128,0.3)')
      .replace(/^<svg width="(\d+)" height="(\d+)"/, '<svg style="width:100%;max-width:$1px;height:auto"')
      // One page holds many drawings: their clip paths and classes must not share names.
      .replace(/zr\d+-/g, (found) => `c${charts}-${found}`)
  } finally {
    charts++
    chart.dispose()
  }
}
let charts = 0

export const valueAxis = (name: string, more: object = {}): object => ({
  type: 'value',
  name,
  nameTextStyle: { color: ink, fontSize: 12 },
  nameLocation: 'middle',
  nameGap: 34,
  axisLabel: { color: ink, fontSize: 12 },
  splitLine: { lineStyle: { color: faint } },
  ...more
})

export const categoryAxis = (data: string[], more: object = {}): object => ({
  type: 'category',
  data,
  nameTextStyle: { color: ink, fontSize: 12 },
  nameLocation: 'middle',
  nameGap: 30,
  axisLabel: { color: ink, fontSize: 12 },
  axisLine: { lineStyle: { color: faint } },
  axisTick: { show: false },
  ...more
})

export const legend = { top: 0, left: 0, textStyle: { color: ink, fontSize: 12 } }
export const valueLabel = { show: true, color: ink, fontSize: 12 }
