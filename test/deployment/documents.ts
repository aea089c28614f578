import { readFileSync } from 'node:fs'
import { projectFile } from '../support/process/project.js'

/** The one block of code of a document that holds a text. */
export function block (document: string, language: string, text: string): string {
  const blocks = [...readFileSync(projectFile(document), 'utf8').matchAll(/^( *)```(\w+)\n([^]*?)^ *```$/gm)]
  const found = blocks.filter(([, , name, code = '']) => name === language && code.includes(text))
  if (found.length !== 1) throw new Error(`${document} has ${found.length} blocks of ${language} with ${text}`)
  return found[0]?.[3] ?? ''
}
