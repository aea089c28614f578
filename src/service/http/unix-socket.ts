import { once } from 'node:events'
import { stat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { codeOf } from '../../error-message.js'
import { ConfigurationError } from '../config/read-environment.js'

export function isSocketPath (host: string): boolean {
  return host.startsWith('/')
}

/** Removes the socket that a killed process left behind; throws a ConfigurationError if it is anything else. */
export async function removeStaleSocket (path: string): Promise<void> {
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
