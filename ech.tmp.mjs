import * as echarts from 'echarts'
import { writeFileSync } from 'node:fs'
const t0 = performance.now()
const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 900, height: 300 })
const labels = ['bare node:http', 'plant-store, SQLite', 'Fastify, SQLite, insert per request']
const ink = '#767d86'
chart.setOption({
  animation: false,
  textStyle: { fontFamily: 'system-ui, sans-serif', color: ink },
  title: { text: 'Create requests per second, and processor time per response', subtext: 'Machine; Node', left: 12, textStyle: { color: ink, fontSize: 16 }, subtextStyle: { color: ink } },
  grid: [{ left: 240, width: 250, top: 70, bottom: 40 }, { left: 600, width: 230, top: 70, bottom: 40 }],
  xAxis: [{ type: 'value', gridIndex: 0, splitNumber: 4, name: 'requests/s', nameLocation: 'middle', nameGap: 28 }, { type: 'value', gridIndex: 1 }],
  yAxis: [{ type: 'category', data: labels, inverse: true, gridIndex: 0, axisTick: { show: false } }, { type: 'category', data: labels, inverse: true, gridIndex: 1, show: false }],
  series: [
    {
      type: 'bar',
      data: [{ value: 34000, itemStyle: { color: '#c58a2b' } }, { value: 30000, itemStyle: { color: '#2f9e63' } }, 4300],
      barWidth: 16,
      label: { show: true, position: 'right', color: ink },
      markLine: { symbol: ['rect', 'rect'], symbolSize: [1, 8], lineStyle: { type: 'solid', color: ink, width: 1 }, label: { show: false }, data: [[{ coord: [33000, 0] }, { coord: [36000, 0] }], [{ coord: [28000, 1] }, { coord: [33000, 1] }]] }
    },
    { type: 'bar', xAxisIndex: 1, yAxisIndex: 1, stack: 'a', data: [20, 30, 40], barWidth: 16 },
    { type: 'bar', xAxisIndex: 1, yAxisIndex: 1, stack: 'a', data: [5, 20, 10], itemStyle: { opacity: 0.45 }, barWidth: 16, label: { show: true, position: 'right', formatter: ({ dataIndex }) => ['20 + 5', 'x', 'y'][dataIndex] } }
  ]
})
const svg = chart.renderToSVGString()
writeFileSync('/tmp/ech.svg', svg)
console.log(svg.length, performance.now() - t0)
console.log(svg.slice(0, 1500))
