/** The message of what was thrown, which need not be an `Error`. */
export function messageOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The code of a failure of Node or of a system call, such as `ENOENT`; undefined if it has none. */
export function codeOf (error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
