/**
 * Waits for a condition that depends on something else, such as another process or a socket.
 * @param interval milliseconds
 */
export async function until (condition: () => boolean, interval = 2): Promise<void> {
  for (const start = performance.now(); !condition();) {
    if (performance.now() - start > 60_000) throw new Error('the condition was not met within 60 s')
    await new Promise(resolve => setTimeout(resolve, interval))
  }
}
