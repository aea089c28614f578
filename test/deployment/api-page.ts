import type { Page } from './browser.js'

/** Opens the API page of a service, and waits until it shows the operations. */
export async function openPage (page: Page, address: string): Promise<void> {
  await page.send('Page.navigate', { url: `${address}/docs` })
  await page.until('document.querySelectorAll(".opblock-summary-control").length === 3')
}

/** Opens every operation of the page. */
export async function openAll (page: Page): Promise<void> {
  await page.evaluate('document.querySelectorAll(".opblock-summary-control").forEach(button => button.click())')
  await page.until('document.querySelectorAll(".responses-table .response").length > 10')
}
