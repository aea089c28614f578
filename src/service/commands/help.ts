import { environment } from '../configuration/configuration.js'

/** Up to the next space within 80 columns, of which a variable's name takes 22. */
const line = /(.{1,57})(?: |$)/g

const variables = Object.entries(environment.properties).map(([name, { default: defaultValue, description }]) => {
  const meaning = defaultValue === undefined ? `${description}` : `${description} (default: ${defaultValue})`
  const lines = Array.from(meaning.matchAll(line), ([, text]) => text)
  return `  ${name.padEnd(18)}  ${lines.join(`\n${' '.repeat(22)}`)}`
})

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
