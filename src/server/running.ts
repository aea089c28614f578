import type { Credentials } from './configuration.js'
import type { MetricsData } from './metrics.js'

/** The service while it runs, in one process or in many. */
export interface Running {
  /** Where it listens, as a URL. */
  readonly address: string
  /** Lets in those whose tokens these are, and nobody else, from now on. */
  reload (credentials: Credentials): void
  /** Answers what has come, then ends. */
  end (): Promise<void>
  /** Ends whatever is left at once. */
  kill (): void
  /** Of each process. */
  metrics (): Promise<MetricsData[]>
}
