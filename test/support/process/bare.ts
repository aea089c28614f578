/**
 * The arguments with which env(1) runs a command with only these variables. tap adds its own to any environment: a hook
 * that costs each process 0.2 s, more with coverage, and makes some signals fatal.
 */
export function bare (variables: NodeJS.ProcessEnv, command: readonly string[]): string[] {
  const set = Object.entries(variables).filter(([, value]) => value !== undefined)
  return ['-i', ...set.map(([name, value]) => `${name}=${value}`), ...command]
}
