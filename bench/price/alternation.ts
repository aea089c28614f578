// Runs several servers in this process, each for 100 ms at a time, and prints the times of a request as JSON: what
// slows the machine down for longer than that slows down all of them. `node alternation.js ALTERNATION`, as JSON.
import { Side, type SideName } from './side.js'

export interface Alternation {
  /** In the order in which they are started, and take turns. */
  sides: SideName[]
  connections: number
  warmUps: number
  turns: number
}

const SLICE = 100 // ms

const { sides: names, connections, warmUps, turns }: Alternation = JSON.parse(process.argv[2] ?? '')
const sides: Side[] = []
for (const name of names) sides.push(await Side.start(name, connections))

const times: number[][] = names.map(() => [])
for (let turn = 0; turn < warmUps + turns; turn++) {
  for (const [index, side] of sides.entries()) {
    const time = await side.slice(SLICE)
    if (turn >= warmUps) times[index]?.push(time)
  }
}
console.log(JSON.stringify(times))
process.exit()
