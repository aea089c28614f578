import { aggregate } from './aggregate.js'
import type { Command } from './command.js'
import { count, find, getMore } from './find.js'
import { hello } from './hello.js'
import { insert } from './insert.js'

const acknowledge: Command = () => ({ ok: 1 })

/** Every supported command, by its name. */
export const commands: Readonly<Record<string, Command>> = {
  ping: acknowledge,
  endSessions: acknowledge,
  killCursors: acknowledge,
  dropDatabase: acknowledge,
  aggregate,
  count,
  find,
  getMore,
  hello,
  insert
}
