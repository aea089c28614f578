import { once } from 'node:events'
import { stat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { codeOf } from '../../error-message.js'
import { ConfigurationError } from '../../config/read-environment.js'

/** Removes the socket that a killed process left behind; throws a ConfigurationError if no socket can be made there. */
export async function removeStaleSocket (path: string): Promise<void> {
  // Listening would fail with "permission denied".
  if (await stat(dirname(path)).catch(codeOf) === 'ENOENT') throw new ConfigurationError(`HOST is ${JSON.stringify(path)}, whose folder does not exist: it must be a path in an existing folder`)
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return
  const fault = !found.isSocket() ? 'is a file that is not a socket' : await isLive(path) ? 'another process listens on' : undefined
  if (fault !== undefined) throw new ConfigurationError(`HOST is ${JSON.stringify(path)}, which ${fault}: it must be a path that is not in use`)
  await unlink(path)
}

/** Only a refused connection proves that no process listens; a missing permission, for example, does not. */
async function isLive (path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    return codeOf(error) !== 'ECONNREFUSED'
  } finally {
    socket.destroy()
  }
}
