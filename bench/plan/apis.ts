/** What differs between servers that create plants, by `POST` with a bearer token. */
export interface Api {
  /** Where plants are created, below the URL of the server. */
  path: string
  statuses: { created: number, taken: number, unknownToken: number }
  /** Bodies of requests that the server refuses with 400. */
  invalid: readonly string[]
  /** The body of the response to a request that created a plant; ID stands for its id. */
  created: (plant: { name: string, tag?: string }) => string
}

const invalid = ['{"id":1,', '{"id":1}', '{"name":"Aloe"}', '{"id":1.5,"name":"Aloe"}']

export const plantApi: Api = {
  path: '/plants',
  statuses: { created: 200, taken: 400, unknownToken: 401 },
  invalid: [...invalid, '{"id":"one","name":"Aloe"}'],
  created: plant => JSON.stringify(plant)
}

/** Its ids are texts, into which it turns numbers. A request with an unknown token is as one without. */
export const pocketBaseApi: Api = {
  path: '/api/collections/plants/records',
  statuses: { created: 200, taken: 400, unknownToken: 400 },
  invalid,
  created ({ name, tag = '' }) {
    return `${JSON.stringify({ collectionId: 'plants', collectionName: 'plants', id: 'ID', name, tag })}\n`
  }
}

/** It stores any object. An id that is taken, and what is not JSON, is an error inside of it. */
export const jsonServerApi: Api = {
  path: '/plants',
  statuses: { created: 201, taken: 500, unknownToken: 401 },
  invalid: [],
  created: plant => JSON.stringify({ id: 'ID', ...plant }, null, 2).replace('"ID"', 'ID')
}
