import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { projectFile } from '../support/process/project.js'

const read = (path: string): string => readFileSync(projectFile(path), 'utf8')
const filesIn = (folder: string, ending = ''): string[] =>
  readdirSync(projectFile(folder), { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith(ending)).map(name => `${folder}/${name}`)

/** The commands of CI, which may include those of a page literally. */
const ci = ['package.json', ...filesIn('.ci'), ...filesIn('.github', '.yml')].map(read).join('\n').replace(/^ *#.*\n/gm, '')
/** Commands that CI or a test extracts from a page, by a text they contain. */
const extracted = [...[ci, ...filesIn('test', '.ts').map(read)].join('\n').matchAll(/documented[ (]'?([\w/]+\.md)'?,? '([^']+)'/g)]
  .map(([, page = '', text = '']) => ({ page, text }))

const notRun = [
  // Needs the registry; .ci/clone installs the packed package.
  'npm install plant-store',
  // The pages say why these are not run.
  'npx plant-store', 'kubectl exec deploy/…',
  // Part of the unit, which is run.
  'node …/dist/service/main.js'
]
const program = /^(?:chgrp|curl|docker|install|journalctl|kubectl|mongo\w+|node|npm|npx|openssl|runuser|sqlite3|sysctl|systemctl|user\w+) (?!\|)/

t.test('every command of the pages is run by CI or by a test', async t => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'bench/README.md', ...filesIn('docs', '.md')]
  for (const page of pages) {
    const blocks: string[] = []
    const prose = read(page).replace(/^ *```(\w*)\n([^]*?)^ *```$/gm, (_block, language: string, code: string) => {
      if (/^(?:ba|z)?sh$|^$|^console$/.test(language)) blocks.push(code)
      return ''
    })
    const inline = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code).filter(code => program.test(code))
    for (const command of [...blocks, ...inline.filter(code => !blocks.some(block => block.includes(code)))]) {
      const isExtracted = extracted.some(({ page: from, text }) => from === page && command.includes(text))
      const lines = command.trim().split('\n').map(line => line.replace(/ +#.*/, ''))
      // .ci/benchmarks extracts every line that runs a benchmark.
      t.ok(isExtracted || lines.every(line => ci.includes(line) || /^npm run bench( --|$)/.test(line) || notRun.includes(line)), `${page}: ${command}`)
    }
  }
})
