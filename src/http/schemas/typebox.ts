import { createRequire } from 'node:module'
import type * as typebox from '@sinclair/typebox'
import type * as compiler from '@sinclair/typebox/compiler'

// TypeBox as CommonJS: its ES modules, 250 files, add 24 to 54 ms to a startup of 360 to 420 ms (Node 20).
const require = createRequire(import.meta.url)
const core: typeof typebox = require('@sinclair/typebox')

export const Kind: typeof typebox.Kind = core.Kind
export const Type: typeof typebox.Type = core.Type
export const TypeRegistry: typeof typebox.TypeRegistry = core.TypeRegistry
export const TypeCompiler: typeof compiler.TypeCompiler = require('@sinclair/typebox/compiler').TypeCompiler
