import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { play } from './play.js'
import { storyOf, type Story } from './story.js'

/** A story with a contradiction, made as short as possible. */
export interface Finding {
  seed: number
  contradiction: string
  story: Story
  /** What happens in it, line by line. */
  lines: string[]
}

/**
 * Plays the stories of `count` seeds, beginning with `first`.
 * @returns the first contradiction; undefined if there is none
 */
export async function simulate (
  first: number, count: number, onProgress?: (played: number) => void
): Promise<Finding | undefined> {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  let found: Story | undefined
  for (let played = 0; played < count && found === undefined; played++) {
    const story = storyOf(first + played)
    if (await play(story) !== undefined) found = story
    if (played > 0 && played % 10_000 === 0) onProgress?.(played)
  }
  Error.stackTraceLimit = stackTraceLimit
  return found === undefined ? undefined : await shrink(found)
}

/** Removes all steps that the contradiction does not need. */
async function shrink (story: Story): Promise<Finding> {
  for (let size = Math.ceil(story.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = story.steps.length - size; at >= 0; at -= size) {
      const shorter = { ...story, steps: story.steps.filter((_, index) => index < at || index >= at + size) }
      if (await play(shorter) !== undefined) story = shorter
    }
  }
  const lines: string[] = []
  const contradiction = await play(story, line => { lines.push(line) }) ?? 'none'
  return { seed: story.seed, contradiction, story, lines }
}

/** A finding as readable text. */
export function describeFinding ({ seed, contradiction, story, lines }: Finding): string {
  const { steps, ...rest } = story
  return [`seed ${seed}: ${contradiction}`, JSON.stringify(rest), ...steps.map(step => `  ${JSON.stringify(step)}`), 'what happened:', ...lines].join('\n')
}

/** Divides the stories among several processes; returns the exit code of the first that fails, or 0. */
async function simulateInProcesses (first: number, count: number, processes: number): Promise<number> {
  const share = Math.ceil(count / processes)
  const codes = await Promise.all(Array.from({ length: processes }, async (_, index) => {
    const words = ['--first', String(first + index * share), '--count', String(Math.min(share, count - index * share))]
    const child = fork(fileURLToPath(import.meta.url), words)
    const [code]: unknown[] = await once(child, 'exit')
    return Number(code ?? 1)
  }))
  return codes.find(code => code !== 0) ?? 0
}

async function main (): Promise<number> {
  const { values } = parseArgs({
    options: { first: { type: 'string', default: '1' }, count: { type: 'string', default: '10000' }, processes: { type: 'string', default: '1' } }
  })
  const [first, count, processes] = [Number(values.first), Number(values.count), Number(values.processes)]
  if (processes > 1) return await simulateInProcesses(first, count, processes)
  const began = performance.now()
  const seconds = () => ((performance.now() - began) / 1_000).toFixed(1)
  const finding = await simulate(first, count, played => {
    if (played % 50_000 === 0) console.error(`${played} stories, ${seconds()} s`)
  })
  if (finding !== undefined) {
    console.log(describeFinding(finding))
    return 1
  }
  console.log(`${count} stories from seed ${first}, no contradiction, ${seconds()} s`)
  return 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main()
