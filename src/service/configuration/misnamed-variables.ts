/** Names that others give a variable, which differ from ours in more than their spelling. */
const otherNames: Readonly<Record<string, string>> = {
  TOKEN: 'ACCESS_TOKENS',
  TOKENS: 'ACCESS_TOKENS',
  API_TOKEN: 'ACCESS_TOKENS',
  API_TOKENS: 'ACCESS_TOKENS',
  AUTH_TOKEN: 'ACCESS_TOKENS',
  AUTH_TOKENS: 'ACCESS_TOKENS',
  BEARER_TOKEN: 'ACCESS_TOKENS',
  MONGODB: 'MONGODB_URL',
  MONGODB_CONNECTION_STRING: 'MONGODB_URL',
  MONGO_CONNECTION_STRING: 'MONGODB_URL',
  DATA_PATH: 'DATA_DIR',
  DATA_FOLDER: 'DATA_DIR',
  TLS_CERT: 'TLS_CERT_FILE',
  TLS_KEY: 'TLS_KEY_FILE'
}

/**
 * Finds variables that are not read, but whose name is nearly that of one that is.
 * @param known the names of those that are read
 * @returns a sentence for each
 */
export function misnamedVariables (env: NodeJS.ProcessEnv, known: readonly string[]): string[] {
  const sentences: string[] = []
  for (const name of Object.keys(env)) {
    if (known.includes(name)) continue
    const meant = otherNames[name.toUpperCase()] ?? known.find(other => isNearly(name, other))
    if (meant !== undefined) sentences.push(`${name} is not read; did you mean ${meant}?`)
  }
  return sentences
}

/** Whether names differ only in case, underscores, a plural, URI for URL, Mongo for MongoDB, or a typo. */
function isNearly (name: string, other: string): boolean {
  const [one, two] = [reduced(name), reduced(other)]
  if (one === two) return true
  // Of a short name, such as HOME beside HOST, other programs' names differ in as little.
  return two.length >= 7 && differInOneLetter(one, two)
}

function reduced (name: string): string {
  const words = name.toUpperCase().replace('MONGODB', 'MONGO').replace(/UR[IL]/, 'URL').split('_')
  return words.map(word => word.replace(/S$/, '')).join('')
}

/** Whether one letter is missing, added, wrong or in its neighbor's place. */
function differInOneLetter (one: string, two: string): boolean {
  let start = 0
  while (start < one.length && one[start] === two[start]) start++
  const [restOfOne, restOfTwo] = [one.slice(start), two.slice(start)]
  const swapped = `${restOfOne[1]}${restOfOne[0]}${restOfOne.slice(2)}`
  return restOfOne.slice(1) === restOfTwo || restOfOne === restOfTwo.slice(1) ||
    restOfOne.slice(1) === restOfTwo.slice(1) || swapped === restOfTwo
}
