import { readFileSync } from 'node:fs'
import type { Behaviour } from './behaviour.js'

/** What was seen of a behaviour. */
export interface Observation {
  readonly behaviour: Behaviour
  readonly text: string
  readonly isWrong: boolean
}

const NAME_WIDTH = 46
const PAGE = new URL('../../../docs/mongodb-servers.md', import.meta.url)

/** The line of a behaviour: `✓` or `✗` if it decides, nothing if it only informs. */
export function lineOf ({ behaviour: { name, decides = false }, text, isWrong }: Observation): string {
  const mark = isWrong ? '✗' : '✓'
  return `${decides ? mark : ' '} ${name.padEnd(NAME_WIDTH)} ${text}`
}

export function conclusionOf (observations: readonly Observation[]): string {
  const wrong = observations.filter(({ isWrong }) => isWrong)
  if (wrong.length === 0) return 'Right on this server: creates, repeats, exact ids and what is read back.'
  return `NOT right on this server: ${wrong.map(({ behaviour }) => behaviour.name).join('; ')}.`
}

/** The rows of the page's tables: by the behaviour's name, the cells by the column's name. */
export function documentedRows (): Map<string, Map<string, string>> {
  const rows = new Map<string, Map<string, string>>()
  for (const [table] of readFileSync(PAGE, 'utf8').matchAll(/^(?:\|.*\n)+/gm)) {
    const [[, ...columns] = [], , ...lines] = table.trim().split('\n').map(cellsOf)
    for (const [name = '', ...cells] of lines) {
      rows.set(name, new Map(columns.map((column, index) => [column, cells[index] ?? ''])))
    }
  }
  return rows
}

function cellsOf (line: string): string[] {
  return line.split('|').slice(1, -1).map(cell => cell.trim())
}

/** Where the page's column says something else than what was seen. */
export function differencesFrom (column: string, observations: readonly Observation[]): string[] {
  const rows = documentedRows()
  return observations.flatMap(({ behaviour: { name }, text }) => {
    const documented = rows.get(name)?.get(column) ?? 'no such row or column'
    return documented === text ? [] : [`${name}: ${text}; the page says: ${documented}`]
  })
}
