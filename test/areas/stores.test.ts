import { runFolder } from '../support/run-folder.js'

await Promise.all(['stores/batching', 'stores/mongo'].map(runFolder))
