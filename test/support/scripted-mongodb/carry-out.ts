import { CommandError } from './command-error.js'
import { commands } from './commands/index.js'
import type { Answer, Manner, Scene } from './cue.js'
import type { Member } from './member.js'
import type { Request } from './wire/request.js'

/** Executes a request as the next cue says, or as usual, and returns the answer. */
export async function carryOut (request: Request, member: Member, hands: Pick<Scene, 'hangUp' | 'cutShort'>): Promise<Answer> {
  const { deployment, topologyVersion } = member
  const perform = async (manner: Manner = {}): Promise<Answer> => {
    // A process that was stopped while a cue waited can do nothing.
    if (member.topologyVersion !== topologyVersion) return undefined
    try {
      const command = commands[request.command]
      if (command === undefined) throw new CommandError({ code: 59, message: `no such command: '${request.command}'` })
      return await command({ request, member, manner })
    } catch (error) {
      const failure =
        error instanceof CommandError ? error : new CommandError({ code: 1, message: String((error as Error).stack) })
      return member.failed(failure)
    }
  }
  const cue = deployment.prompter.next(request.command)
  if (cue === undefined) return await perform()
  return await cue({ request, member, ...hands, wait: async ms => await deployment.waits.for(ms) }, perform)
}
