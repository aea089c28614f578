import { aggregate } from './aggregate.js'
import type { Command } from './command.js'
import { count } from './count.js'
import { create } from './create.js'
import { find } from './find.js'
import { formalities } from './formalities.js'
import { getMore } from './get-more.js'
import { hello } from './hello.js'
import { insert } from './insert.js'
import { killCursors } from './kill-cursors.js'
import { listCollections } from './list-collections.js'

/** Every command that is known, by its name. */
export const commands: Readonly<Record<string, Command>> = {
  ...formalities, aggregate, count, create, find, getMore, hello, insert, killCursors, listCollections
}
