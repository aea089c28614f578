import type { StoreWriter } from '../../src/stores/batching/store-writer.js'
import type { VirtualClock } from '../support/virtual-clock.js'
import type { Random } from './random.js'
import type { Fault, Step, Story } from './story.js'

type FaultStep = Extract<Step, { do: 'fault' }>

/** A plant without its id, as the text by which a story names it. */
export function textOf ({ name, tag }: { name: string, tag?: string | undefined }): string {
  return tag === undefined ? name : `${name}, ${tag}`
}

/** The plant without its id that has this text. */
export function fieldsOf (text: string): { name: string, tag?: string } {
  const comma = text.indexOf(', ')
  return comma < 0 ? { name: text } : { name: text.slice(0, comma), tag: text.slice(comma + 2) }
}

/** The common parts of both simulated stores: the plants, the faults to come, and a record of what happened. */
export class SimulatedStore {
  /** The stored plants by id; those that are not durable can be lost. */
  readonly plants = new Map<bigint, { text: string, isDurable: boolean }>()
  /** Each plant that was ever stored, even if it was lost again, as `id text`. */
  readonly everStored = new Set<string>()
  /** Whether anything has happened that leaves an outcome uncertain. */
  isUncertain = false
  /** Whether a plant was refused permanently. */
  hasRefused = false
  /** When a fault last had an effect. */
  lastFault = 0
  /** The number of faults that have an effect now. */
  faultsInFlight = 0
  writes = 0
  writesInFlight = 0
  /** Optionally records each command and its result. */
  log: ((line: string) => void) | undefined
  readonly #faults: FaultStep[] = []
  #isHealed = false

  constructor (readonly clock: VirtualClock, readonly random: Random, readonly story: Story) {}

  /** The text of a plant that cannot be lost any more. */
  durable (id: bigint): string | undefined {
    const plant = this.plants.get(id)
    return plant?.isDurable === true ? plant.text : undefined
  }

  addFault (step: FaultStep): void {
    this.#faults.push({ ...step })
  }

  /** Takes the fault for the next command of a kind. */
  takeFault (to: FaultStep['to']): Fault | undefined {
    const step = this.#faults.find(fault => fault.to === to && fault.times > 0)
    if (step === undefined) return undefined
    step.times--
    return step.fault
  }

  /** Ends all faults. */
  heal (): void {
    this.#faults.splice(0)
    this.#isHealed = true
  }

  protected insert (id: bigint, text: string, isDurable: boolean): boolean {
    if (this.plants.has(id)) return false
    this.plants.set(id, { text, isDurable })
    this.everStored.add(`${id} ${text}`)
    return true
  }

  /** Records the start of a fault; returns a function that records its end. */
  faultBegins (): () => void {
    this.faultsInFlight++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.faultsInFlight--
      this.lastFault = this.clock.now()
    }
  }

  protected isPoisoned (id: bigint): boolean {
    return !this.#isHealed && this.story.poison.includes(Number(id))
  }

  /** Whether one of these plants makes the whole command fail. */
  protected isBroken (ids: readonly bigint[]): boolean {
    return !this.#isHealed && ids.some(id => this.story.breaking.includes(Number(id)))
  }
}

/** A writer that throws or rejects, as it should not, when a fault of the story says so. */
export function rejectingWriter (writer: StoreWriter, simulated: SimulatedStore): StoreWriter {
  function write (...batch: Parameters<StoreWriter['write']>): ReturnType<StoreWriter['write']> {
    const fault = simulated.takeFault('writer')
    if (fault?.kind !== 'rejects') return writer.write(...batch)
    simulated.isUncertain = true
    simulated.lastFault = simulated.clock.now()
    simulated.log?.(`the writer ${fault.writes ? 'writes, and rejects' : 'throws'}`)
    if (!fault.writes) throw new Error('thrown')
    const ends = simulated.faultBegins()
    return writer.write(...batch).finally(() => {
      ends()
      throw new Error('rejected')
    })
  }
  return { maxInFlight: writer.maxInFlight, write, check: async () => {}, close: () => writer.close() }
}
