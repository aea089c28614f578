import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { Page } from './browser.js'
import { needsProgram } from '../support/process/needs.js'
import { projectFile } from '../support/process/program.js'

const withBrowser = needsProgram('chromium')

interface Area { left: number, top: number, right: number, bottom: number }
interface Point { x: number, y: number }
/** `id` is that of the group; `names` are its texts, without what is prose. */
interface Box extends Area { id: string, names: string[] }
interface Line { id: string, points: Point[] }
interface Drawing { picture: Area, texts: (Area & { text: string })[], boxes: Box[], lines: Line[] }

/** What a browser draws, in the units of the picture. Lines are sampled every two units. */
const MEASURE = `(() => {
  const svg = document.querySelector('svg')
  const all = selector => Array.from(svg.querySelectorAll(selector))
  const area = ({ x, y, width, height }) => ({ left: x, top: y, right: x + width, bottom: y + height })
  const namesIn = text => {
    if (text.matches('.prose')) return []
    const copy = text.cloneNode(true)
    copy.querySelectorAll('.prose').forEach(prose => prose.remove())
    return copy.textContent.split(',').map(name => name.trim()).filter(name => name !== '')
  }
  const pointsOf = path => {
    const length = path.getTotalLength()
    const distances = Array.from({ length: Math.ceil(length / 2) }, (_, index) => index * 2)
    return [...distances, length].map(distance => {
      const { x, y } = path.getPointAtLength(distance)
      return { x, y }
    })
  }
  return {
    picture: area(svg.viewBox.baseVal),
    texts: all('text').map(text => ({ ...area(text.getBBox()), text: text.textContent })),
    boxes: all('rect').map(rect => {
      const texts = Array.from(rect.parentNode.querySelectorAll('text'))
      return { ...area(rect.getBBox()), id: rect.parentNode.id, names: texts.flatMap(namesIn) }
    }),
    lines: all('path:not(marker path)').map(path => ({ id: path.id, points: pointsOf(path) }))
  }
})()`

async function drawn (t: Test, name: string): Promise<Drawing> {
  const page = await Page.open(t)
  // The widest of the usual fonts; on Linux, it often is system-ui.
  const svg = readFileSync(projectFile(`docs/${name}`), 'utf8').replace('system-ui', 'DejaVu Sans')
  await page.evaluate(`document.body.innerHTML = ${JSON.stringify(svg)}`)
  return page.evaluate(MEASURE)
}

const shrunk = ({ left, top, right, bottom }: Area, by: number): Area => (
  { left: left + by, top: top + by, right: right - by, bottom: bottom - by })
const isApart = (one: Area, other: Area) => (
  one.right <= other.left || one.left >= other.right || one.bottom <= other.top || one.top >= other.bottom)
const isInside = (one: Area, other: Area) => (
  one.left >= other.left && one.right <= other.right && one.top >= other.top && one.bottom <= other.bottom)
const holds = ({ left, top, right, bottom }: Area, { x, y }: Point) => x > left && x < right && y > top && y < bottom
const isAtEdge = (area: Area, point: Point) => holds(shrunk(area, -4), point) && !holds(shrunk(area, 4), point)

for (const name of ['architecture.svg', 'request.svg', 'shared-commit.svg']) {
  t.test(`${name}: no text leaves its box, and nothing covers a text`, withBrowser, async t => {
    const { picture, texts, boxes, lines } = await drawn(t, name)
    for (const text of texts) {
      t.ok(isInside(text, picture), `${text.text} is in the picture`)
      const cut = boxes.filter(box => !isApart(text, box) && !isInside(text, shrunk(box, 4)))
      t.strictSame(cut, [], `${text.text} is inside or outside of each box`)
      t.strictSame(texts.filter(other => other !== text && !isApart(text, other)), [], text.text)
      t.notOk(lines.some(({ points }) => points.some(point => holds(text, point))), `no line crosses ${text.text}`)
    }
  })
}

/** Each module of src that another one imports as a value; paths such as `src/stores/sqlite/database.ts`. */
function importsOfSource (): { from: string, to: string }[] {
  const names = readdirSync(projectFile('src'), { recursive: true, encoding: 'utf8' })
  return names.filter(name => name.endsWith('.ts')).flatMap(file => {
    const code = readFileSync(projectFile(join('src', file)), 'utf8').replace(/^(?:im|ex)port type [^']*'.*'/gm, '')
    const targets = [...code.matchAll(/(?:from |import\()'(\.[^']*)\.js'/g)]
    return targets.map(([, target = '']) => ({ from: join('src', file), to: join('src', file, '..', `${target}.ts`) }))
  })
}

t.test('architecture.svg shows the modules of src, and all their imports, and no others', withBrowser, async t => {
  const { boxes, lines } = await drawn(t, 'architecture.svg')
  const isPath = (name: string) => name.startsWith('src/')
  const exists = (path: string) => existsSync(projectFile(path)) || existsSync(projectFile(`${path}.ts`))
  for (const { id, names } of boxes) {
    const paths = names.filter(isPath)
    for (const path of paths) t.ok(exists(path), `${id}: ${path}`)
    for (const name of names.filter(name => !isPath(name))) {
      t.ok(paths.some(path => exists(join(path, name))), `${id}: ${name}`)
    }
  }
  const paths = boxes.flatMap(({ names }) => names.filter(isPath))
  const top = readdirSync(projectFile('src')).map(name => `src/${name.replace(/\.ts$/, '')}`)
  t.strictSame(paths.filter(path => /^src\/[^/]*$/.test(path)).sort(), top.sort(), 'each module is in one box')

  /** The boxes of a file, the outermost first. */
  const boxesOf = (file: string) => boxes.filter(({ names }) => (
    names.some(name => isPath(name) && /^(?:\.ts|\/.*)$/.test(file.slice(name.length)) && file.startsWith(name))))
  const arrows = new Set<string>()
  for (const { from, to } of importsOfSource()) {
    const [outer] = boxesOf(from).filter(box => !boxesOf(to).includes(box))
    const [target] = boxesOf(to).filter(box => !boxesOf(from).includes(box))
    const isDrawn = outer !== undefined && target !== undefined && outer.id !== 'shared' && target.id !== 'shared'
    if (isDrawn) arrows.add(`${outer.id}-${target.id}`)
  }
  t.strictSame(lines.map(({ id }) => id).sort(), [...arrows].sort())

  for (const { id, points } of lines) {
    const [from, to] = id.split('-').map(end => boxes.find(box => box.id === end) as Box) as [Box, Box]
    const [start, end] = [points[0], points.at(-1)] as [Point, Point]
    t.ok(isAtEdge(from, start) && isAtEdge(to, end), `${id} leads from one box to the other`)
    const others = boxes.filter(box => !holds(box, start) || !holds(box, end))
    t.notOk(others.some(box => points.some(point => holds(shrunk(box, 5), point))), `${id} crosses no box`)
  }
})

t.test('request.svg names modules of src', withBrowser, async t => {
  const files = readdirSync(projectFile('src'), { recursive: true, encoding: 'utf8' })
  const modules = new Set(files.map(file => relative(join(file, '..'), file).replace(/\.ts$/, '')))
  const { boxes } = await drawn(t, 'request.svg')
  t.equal(boxes.length, 7)
  for (const name of boxes.flatMap(({ names }) => names)) t.ok(modules.has(name), name)
})
