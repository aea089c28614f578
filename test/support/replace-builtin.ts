import { syncBuiltinESMExports } from 'node:module'
import type { Test } from 'tap'

/**
 * Replaces a function of a Node module until the end of the test, also for modules that import it by name.
 * @param module the default export of the module
 */
export function replaceBuiltin<Module extends object, Name extends keyof Module> (
  t: Test, module: Module, name: Name, value: Module[Name]
): void {
  const original = module[name]
  const set = (value: Module[Name]): void => {
    module[name] = value
    syncBuiltinESMExports()
  }
  set(value)
  t.teardown(() => set(original))
}
