import { CommandError } from './command-error.js'
import { commands } from './commands/index.js'
import type { Answer, Overrides, CueContext } from './cue.js'
import type { Member } from './member.js'
import type { Request } from './wire/request.js'

/** Executes a request as its cue says, if there is one, or as usual; returns the answer. */
export async function executeRequest (request: Request, member: Member, controls: Pick<CueContext, 'closeConnection' | 'sendHalf'>): Promise<Answer> {
  const { deployment, topologyVersion } = member
  const execute = async (overrides: Overrides = {}): Promise<Answer> => {
    // The process was stopped while a cue was waiting.
    if (member.topologyVersion !== topologyVersion) return undefined
    try {
      const command = commands[request.command]
      if (command === undefined) throw new CommandError({ code: 59, message: `no such command: '${request.command}'` })
      return await command({ request, member, overrides })
    } catch (error) {
      const failure =
        error instanceof CommandError ? error : new CommandError({ code: 1, message: String((error as Error).stack) })
      return member.failed(failure)
    }
  }
  const cue = deployment.cues.next(request.command)
  if (cue === undefined) return await execute()
  return await cue({ request, member, ...controls, wait: async ms => await deployment.wait(ms) }, execute)
}
