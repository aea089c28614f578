/** Waits for a condition that depends on something else, such as another process or a socket. */
export async function until (condition: () => boolean): Promise<void> {
  for (const start = performance.now(); !condition();) {
    if (performance.now() - start > 60_000) throw new Error('the condition was not met within 60 s')
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}
