/**
 * The migration that makes the collection, as PocketBase's documentation writes one, a user who may create plants, and
 * prints the user's token. The id is PocketBase's own, with its own pattern: with another one, each create would read
 * the whole table. Requests are not logged, as by the other servers.
 */
export const migration = `migrate(app => {
  app.save(new Collection({
    type: 'base',
    id: 'plants',
    name: 'plants',
    createRule: '@request.auth.id != ""',
    fields: [
      { name: 'id', type: 'text', system: true, primaryKey: true, required: true, max: 19, pattern: '^[a-z0-9]+$' },
      { name: 'name', type: 'text', required: true },
      { name: 'tag', type: 'text' }
    ]
  }))
  const user = new Record(app.findCollectionByNameOrId('users'))
  user.setEmail('bench@example.com')
  user.setRandomPassword()
  app.save(user)
  const settings = app.settings()
  settings.logs.maxDays = 0
  app.save(settings)
  console.log('token=' + user.newAuthToken())
})
`
