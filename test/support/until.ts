/** Waits for something that happens elsewhere: in another process, or behind a socket. */
export async function until (condition: () => boolean): Promise<void> {
  for (const start = performance.now(); !condition();) {
    if (performance.now() - start > 60_000) throw new Error('it did not happen within 60 s')
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}
