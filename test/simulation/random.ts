/** A sequence of numbers that depends only on the seed (mulberry32). */
export class Random {
  #state: number

  constructor (seed: number) {
    this.#state = Math.imul(seed, 0x9E3779B1) ^ 0x85EBCA6B
  }

  /** From 0 (included) to 1 (excluded), like `Math.random`. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6D2B79F5) | 0
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), bits | 61)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }

  /** An integer from 0 (included) to `limit` (excluded). */
  below (limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance (probability: number): boolean {
    return this.next() < probability
  }

  pick<T> (...choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }
}
