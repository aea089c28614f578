import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { play } from './play.js'
import { storyOf, type Story } from './story.js'

// Plays the stories of consecutive seeds, and prints the first one with a contradiction, as short as possible:
//   node build/test/simulation/simulate.js --first 1 --count 10000 --processes 1

/** Removes all steps that the contradiction does not need. */
async function shrink (story: Story): Promise<Story> {
  for (let size = Math.ceil(story.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = story.steps.length - size; at >= 0; at -= size) {
      const shorter = { ...story, steps: story.steps.filter((_, index) => index < at || index >= at + size) }
      if (await play(shorter) !== undefined) story = shorter
    }
  }
  return story
}

/** Prints a story, and what happens in it, line by line. */
async function tell (story: Story): Promise<void> {
  const lines: string[] = []
  const contradiction = await play(story, line => { lines.push(line) })
  const { steps, ...rest } = story
  const told = steps.map(step => `  ${JSON.stringify(step)}`)
  console.log([
    `seed ${story.seed}: ${contradiction}`, JSON.stringify(rest), ...told, 'what happened:', ...lines
  ].join('\n'))
}

async function simulate (first: number, count: number): Promise<number> {
  const began = performance.now()
  const seconds = () => ((performance.now() - began) / 1_000).toFixed(1)
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  for (let played = 0; played < count; played++) {
    const story = storyOf(first + played)
    if (await play(story) !== undefined) {
      Error.stackTraceLimit = stackTraceLimit
      await tell(await shrink(story))
      return 1
    }
    if (played > 0 && played % 50_000 === 0) console.error(`${played} stories, ${seconds()} s`)
  }
  console.log(`${count} stories from seed ${first}, no contradiction, ${seconds()} s`)
  return 0
}

/** Divides the stories among several processes; returns the exit code of the first that fails, or 0. */
async function simulateInProcesses (first: number, count: number, processes: number): Promise<number> {
  const share = Math.ceil(count / processes)
  const codes = await Promise.all(Array.from({ length: processes }, async (_, index) => {
    const words = ['--first', String(first + index * share), '--count', String(Math.min(share, count - index * share))]
    const [code]: unknown[] = await once(fork(fileURLToPath(import.meta.url), words), 'exit')
    return Number(code ?? 1)
  }))
  return codes.find(code => code !== 0) ?? 0
}

const text = { type: 'string' } as const
const { values } = parseArgs({ options: { first: text, count: text, processes: text } })
const { first = 1, count = 10_000, processes = 1 } = values
process.exitCode = Number(processes) > 1
  ? await simulateInProcesses(Number(first), Number(count), Number(processes))
  : await simulate(Number(first), Number(count))
