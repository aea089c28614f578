import { CommandError, type Failure } from './command-error.js'
import type { Answer, Cue, Overrides, CueContext } from './cue.js'
import type { StepDownOptions } from './deployment.js'

/** The command is neither executed nor answered; the connection stays open. */
export function hang (): Cue {
  return () => undefined
}

/** Stored, but the answer never arrives; the connection stays open. */
export function loseReply (): Cue {
  return async (_context, execute) => {
    await execute()
    return undefined
  }
}

/** The connection closes before anything is stored. */
export function closeBeforeStoring (): Cue {
  return context => close(context)
}

/** Stored, and the connection closes without an answer. */
export function closeAfterStoring (): Cue {
  return async (context, execute) => {
    await execute()
    return close(context)
  }
}

/** Stored, and the connection closes in the middle of the answer. */
export function closeWithinReply (): Cue {
  return async (context, execute) => {
    const answer = await execute()
    if (answer !== undefined) context.sendHalf(answer)
    return undefined
  }
}

/** Delays the next cue of `inOrder`, or the execution. */
export function delay (ms: number): Cue {
  return async (context, execute) => {
    await context.wait(ms)
    return await execute()
  }
}

/** Stored immediately, answered later. */
export function delayReply (ms: number): Cue {
  return async (context, execute) => {
    const usual = await execute()
    await context.wait(ms)
    return usual
  }
}

/**
 * Only the primary stores it: a later rollback removes it, a later majority write replicates it. The answer is that of
 * such a write: write concern error 64 if the majority was requested.
 */
export function unreplicated (): Cue {
  return (_context, execute) => execute({ replicated: false })
}

/** The whole command fails with this code and these labels; nothing is stored or, if `stored`, everything. */
export function answer (
  { stored = false, replicated = true, ...failure }: Failure & { stored?: boolean, replicated?: boolean }
): Cue {
  return async ({ member }, execute) => {
    if (stored) await execute({ replicated })
    return member.failed(new CommandError(failure))
  }
}

/** The documents at these indexes fail with this code; `stored` if they are stored nevertheless. */
export function writeErrors (
  { at, stored = false, ...failure }: Failure & { at: readonly number[], stored?: boolean }
): Cue {
  return (_context, execute) => execute({ fault: index => at.includes(index) ? { ...failure, stored } : undefined })
}

/** Stored and answered with a write concern error; unless `majority`, a later rollback removes it. */
export function writeConcernError ({ code, message = 'scripted', majority = false }: Failure & { majority?: boolean }): Cue {
  return async (_context, execute) => {
    const usual = await execute({ replicated: majority })
    if (usual === undefined) return undefined
    return { ...usual, writeConcernError: { code, errmsg: message, errInfo: { writeConcern: { w: 'majority' } } } }
  }
}

/**
 * What mongos answers after it lost a shard: every document from index `from` on, which went to that shard, gets the
 * code as its write error, although the shard stored the first `storedFirst` of them.
 */
export function shardFailure (
  { code = 6, from = 0, storedFirst = 0 }: { code?: number, from?: number, storedFirst?: number } = {}
): Cue {
  const message = 'Write results unavailable from shard.example:27018 :: caused by :: connection closed'
  const fault: NonNullable<Overrides['fault']> = index =>
    index < from ? undefined : { code, message, stored: index < from + storedFirst }
  return (_context, execute) => execute({ fault })
}

/**
 * The primary steps down while it executes the command: nothing is stored or, if `stored`, only on the primary. The
 * client gets error 11602 or, with `closeConnections`, a closed connection. Options as for `ScriptedMongo.stepDown`.
 */
export function stepDown ({ stored = false, ...options }: StepDownOptions & { stored?: boolean } = {}): Cue {
  return async ({ member }, execute) => {
    if (stored) await execute({ replicated: false })
    member.deployment.stepDown(options)
    return member.failed(new CommandError({ code: 11602, message: 'operation was interrupted' }))
  }
}

/** Several cues for one command: each executes the next, and the last one the command. */
export function inOrder (...cues: readonly Cue[]): Cue {
  return (context, execute) => {
    const from = (place: number, soFar: Overrides): Answer | Promise<Answer> => {
      const cue = cues[place]
      return cue === undefined
        ? execute(soFar)
        : cue(context, async overrides => await from(place + 1, { ...soFar, ...overrides }))
    }
    return from(0, {})
  }
}

function close (context: CueContext): undefined {
  context.closeConnection()
}
