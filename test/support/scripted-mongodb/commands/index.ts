import { aggregate } from './aggregate.js'
import type { Command } from './command.js'
import { count, find, getMore } from './find.js'
import { formalities } from './formalities.js'
import { hello } from './hello.js'
import { insert } from './insert.js'

/** Every supported command, by its name. */
export const commands: Readonly<Record<string, Command>> = {
  ...formalities,
  aggregate,
  count,
  find,
  getMore,
  hello,
  insert
}
