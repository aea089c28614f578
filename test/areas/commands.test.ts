import { runFolder } from '../support/run-folder.js'

await runFolder('commands')
