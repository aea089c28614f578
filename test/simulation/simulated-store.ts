import type { VirtualClock } from '../support/virtual-clock.js'
import type { Random } from './random.js'
import type { Fault, Step, Story } from './story.js'

type FaultStep = Extract<Step, { do: 'fault' }>

/** What both simulated stores have: plants that are there, faults to come, and a memory of what happened. */
export class SimulatedStore {
  /** All that is there, by id; what is not durable can be lost. */
  readonly plants = new Map<bigint, { name: string, isDurable: boolean }>()
  /** All that was ever there, if only for a moment: `id name`. */
  readonly everStored = new Set<string>()
  /** Whether anything has happened that leaves an outcome open. */
  isUncertain = false
  /** Whether a plant was refused for good. */
  hasRefused = false
  /** When a fault last had an effect, and how many have one now. */
  lastFault = 0
  faultsInFlight = 0
  writes = 0
  writesInFlight = 0
  /** What the store was asked and how that ended, if somebody wants to know. */
  log: ((line: string) => void) | undefined
  readonly #faults: FaultStep[] = []
  #poison: readonly number[]

  constructor (readonly clock: VirtualClock, readonly random: Random, readonly story: Story) {
    this.#poison = story.poison
  }

  /** The plant that nothing can take away. */
  durable (id: bigint): string | undefined {
    const plant = this.plants.get(id)
    return plant?.isDurable === true ? plant.name : undefined
  }

  addFault (step: FaultStep): void {
    this.#faults.push({ ...step })
  }

  /** The fault that the next command of this kind meets. */
  protected takeFault (to: FaultStep['to']): Fault | undefined {
    const step = this.#faults.find(fault => fault.to === to && fault.times > 0)
    if (step === undefined) return undefined
    step.times--
    return step.fault
  }

  /** All is well again. */
  heal (): void {
    this.#faults.splice(0)
    this.#poison = []
  }

  protected insert (id: bigint, name: string, isDurable: boolean): boolean {
    if (this.plants.has(id)) return false
    this.plants.set(id, { name, isDurable })
    this.everStored.add(`${id} ${name}`)
    return true
  }

  /** A fault may keep plants from being stored from its start to its end. */
  protected faultBegins (): () => void {
    this.faultsInFlight++
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.faultsInFlight--
      this.lastFault = this.clock.now()
    }
  }

  protected isPoisoned (ids: Iterable<bigint>): boolean {
    for (const id of ids) if (this.#poison.includes(Number(id))) return true
    return false
  }
}
