import { writeFileSync } from 'node:fs'
import { pino } from 'pino'
import { memoryPlantStore } from '../../stores/memory-plant-store.js'
import { createApp } from '../app.js'
import { Health } from '../http/health-routes.js'

// A build step: writes the API description as a file of the package.
const store = memoryPlantStore()
const app = await createApp({
  configuration: {},
  store,
  tokens: ['a-token-that-nobody-uses'],
  health: new Health(store),
  log: pino({ level: 'silent' })
})
const { body } = await app.inject('/openapi.json')
writeFileSync(new URL('../../openapi.json', import.meta.url), `${JSON.stringify(JSON.parse(body), undefined, 2)}\n`)
await app.close()
