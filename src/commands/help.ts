import { environment } from '../config/configuration.js'

/** A terminal's usual 80 columns, less those of a variable's name. */
const DESCRIPTION_WIDTH = 57

const variables = Object.entries(environment.properties).map(([name, { default: defaultValue, description }]) => {
  const words = String(description).split(' ')
  if (defaultValue !== undefined) words.push(`(default: ${defaultValue})`)
  const [first, ...more] = linesOf(words)
  return [`  ${name.padEnd(18)}  ${first}`, ...more.map(line => `${' '.repeat(22)}${line}`)].join('\n')
})

/** Fills lines with words, which are shorter than a line. */
function linesOf (words: readonly string[]): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    if (line.length + 1 + word.length > DESCRIPTION_WIDTH) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

/** What `plant-store --help` prints. */
export const help = `
Usage: plant-store [COMMAND] [OPTION]

  serve          runs the service (the default)
  export [FILE]  writes every plant as a line of JSON (NDJSON), with exact ids,
                 to a new file or to standard output
  import [FILE]  stores the plant of each such line, from a file or from
                 standard input; can be interrupted and run again
  backup FILE    copies the SQLite database to a new file, while the service
                 runs
  migrate        copies every plant of DATA_DIR to MONGODB_URL; can be
                 interrupted and run again

  -q, --quiet    shows problems, but no progress
  -h, --help     this page
  -v, --version  the version

Exit codes: 0 on success; 1 on failure, for example if a plant was not copied;
2 if an argument is invalid.

Everything else is set by the environment (node --env-file=.env also works):

${variables.join('\n')}

The secrets may also come from the files that ACCESS_TOKENS_FILE and
MONGODB_URL_FILE name. SIGHUP reads the tokens and the certificate again.
`
