import { writeFileSync } from 'node:fs'
import { memoryPlantStore } from '../../src/stores/memory-plant-store.js'
import { openPage } from './api-page.js'
import { serve } from '../support/http/service.js'
import { Page } from './browser.js'

// Draws docs/api-page.png from the page as it is: the create request, its 200 and its 400.
//
//   npm run compile && node build/test/deployment/draw-api-page.js

const ends: (() => unknown)[] = []
const t = { teardown: (end: () => unknown) => { ends.unshift(end) } }
const { port } = await serve(t, memoryPlantStore(), { DOCS: true })
const page = await Page.open(t)
await page.show({ width: 1200, height: 900, scheme: 'light' })
await openPage(page, `http://127.0.0.1:${port}`)
await page.evaluate('document.querySelector(".opblock-post .opblock-summary-control").click()')
await page.until('document.querySelectorAll(".responses-table .response").length > 5')
await page.until('document.getAnimations().length === 0')
const clip = await page.evaluate(`(() => {
  const { top } = document.querySelector('.opblock-tag-section').getBoundingClientRect()
  const { bottom } = document.querySelectorAll('.responses-table .response')[1].getBoundingClientRect()
  return { x: 0, y: top + scrollY - 8, width: 1200, height: bottom - top + 16 }
})()`)
writeFileSync('docs/api-page.png', await page.screenshot(clip))
for (const end of ends) await end()
