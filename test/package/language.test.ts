import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectFile } from '../support/process/project.js'

/** Phrases that read as a translation, each with a better wording. */
const retired: [phrase: RegExp, instead: string][] = [
  [/surely (not )?stored|\bperhaps stored/i, 'stored, not stored, may have been stored'],
  [/\bis no (plant|2xx|b64token|json|http|int64|integer|utf-8)\b/i, 'is not a …'],
  [/\bno word (from|about)\b/i, 'did not respond'],
  [/\bwhat has come\b|\bhas come\b/i, 'requests already received'],
  [/\bgoes on\b|\banew\b/i, 'continues, again'],
  [/stays? as it was|\bsuch as it is\b/i, 'is unaffected'],
  [/\bbelongs? into\b|\bwhere there is none\b/i, 'belongs in, if there is none'],
  [/\bmakes a failure of\b/i, 'turns that into a failure'],
  [/\bcreates (a second|that (wait|share)|are|share)\b|\ba create that\b/i, 'create requests, a pending request'],
  [/\blongestEnd|lastInQueue|\bstoreOf\b|\bplaceOf\b|\bPace\.enough|#crowd\b/, 'the current names'],
  [/\bpatience\b/i, 'a timeout with its unit'],
  [/\bto send the same plant again\b/i, 'retrying the same plant'],
  [/\bas well[.,;:)]/i, 'also, too'],
  [/\bwhatever\b|\bwhoever\b/i, 'any, even if'],
  [/\bin vain\b/i, 'fails'],
  [/\btold\b/i, 'reported, informed']
]

const places = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'Dockerfile', 'compose.yaml', '.ci', '.github', 'docs', 'src', 'bench', 'test']

/** The text files at or below a path. */
function filesOf (path: string): string[] {
  if (statSync(projectFile(path)).isFile()) return /\.(json|png)$|language\.test\.ts$/.test(path) ? [] : [path]
  return path === 'bench/results' ? [] : readdirSync(projectFile(path)).flatMap(name => filesOf(join(path, name)))
}

t.test('no text has a retired phrase', async t => {
  const files = places.flatMap(filesOf)
  t.ok(files.length > 200)
  for (const file of files) {
    const lines = readFileSync(projectFile(file), 'utf8').split('\n')
    lines.forEach((line, index) => {
      for (const [phrase, instead] of retired) {
        const [found] = phrase.exec(line) ?? []
        if (found !== undefined) t.fail(`${file}:${index + 1}: "${found}"; better: ${instead}`)
      }
    })
  }
})
