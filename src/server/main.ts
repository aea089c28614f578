#!/usr/bin/env node
import { StoreUnusable } from '../stores/plant-store.js'
import { ConfigurationError } from './configuration.js'
import { serve } from './serve.js'

try {
  await serve()
} catch (error) {
  const told = error instanceof ConfigurationError || error instanceof StoreUnusable || (error as NodeJS.ErrnoException).syscall === 'listen'
  process.stderr.write(`plant-store: ${told ? (error as Error).message : (error as Error).stack}\n`)
  process.exit(1)
}
