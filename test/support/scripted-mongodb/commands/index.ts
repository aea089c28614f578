import { aggregate } from './aggregate.js'
import type { Command } from './command.js'
import { count, find, getMore } from './find.js'
import { hello } from './hello.js'
import { insert } from './insert.js'
import { noOps } from './no-ops.js'

/** Every supported command, by its name. */
export const commands: Readonly<Record<string, Command>> = {
  ...noOps,
  aggregate,
  count,
  find,
  getMore,
  hello,
  insert
}
