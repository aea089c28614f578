// A file of its own: other test support loads tap, which a program that is no test must not.

/** Replaces the database in a MongoDB URL, and keeps the credentials. */
export function urlOfDatabase (url: string, database: string): string {
  const [, start = '', credentials = '', hosts = '', path = '', query = ''] =
    /^(mongodb(?:\+srv)?:\/\/)([^@/]*@)?([^/?]*)\/?([^?]*)\??(.*)$/.exec(url) ?? []
  const options = new URLSearchParams(query)
  // Otherwise the user would be looked up in the new database.
  if (credentials !== '' && !options.has('authSource')) options.set('authSource', path === '' ? 'admin' : path)
  return `${start}${credentials}${hosts}/${database}?${options}`
}
