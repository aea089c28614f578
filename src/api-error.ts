/**
 * Every answer of the service that is no 2xx: its status, its number and what it tells the client, which includes what
 * to do next. The last two digits of a number count within its status.
 */
export const apiErrors = {
  requestMalformed: [400, 40000, 'The request is not well-formed HTTP'],
  bodyMissing: [400, 40001, 'The request has no body: send a plant as JSON, for example {"id":1,"name":"Monstera"}'],
  bodyNotJson: [400, 40002, 'The body is not acceptable JSON'],
  plantInvalid: [400, 40003, 'The body is no plant: send a JSON object with an id and a name'],
  idTaken: [400, 40004, 'Another plant has this id: choose another id'],
  credentialsMissing: [401, 40101, 'No well-formed credentials: send the header Authorization: Bearer <ACCESS_TOKEN>'],
  tokenUnknown: [401, 40102, 'The access token is not accepted here'],
  pathUnknown: [404, 40401, 'There is nothing at this path: plants are created with POST /plants'],
  methodNotAllowed: [405, 40501, 'This path takes POST only'],
  requestTimeout: [408, 40801, 'The request took too long to arrive'],
  bodyTooLarge: [413, 41301, 'The body is too large'],
  mediaTypeUnsupported: [415, 41501, 'The body must be JSON, unencoded: send the header Content-Type: application/json'],
  headersTooLarge: [431, 43101, 'The request headers are too large'],
  internal: [500, 50001, 'The service failed. Whether the plant is stored is not known: to send the same plant again is safe'],
  notStored: [503, 50301, 'The plant is not stored: send it again later'],
  perhapsStored: [504, 50401, 'Whether the plant is stored is not known yet: send the same plant again, which is always safe']
} as const satisfies Record<string, readonly [status: number, error: number, message: string]>

/** The name of one row of `apiErrors`. */
export type ApiErrorName = keyof typeof apiErrors

/** An answer that is no 2xx, thrown or handed to Fastify anywhere, and sent by the error handler. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly statusCode: number
  /** int32, from the table above. */
  readonly error: number

  /**
   * @param message what the client reads, where there is more to say than the table does
   * @param cause what went wrong, for the log only
   */
  constructor (readonly kind: ApiErrorName, message?: string, cause?: unknown) {
    const { stackTraceLimit } = Error
    // These are answers, not faults: a stack would cost more than the rest of the answer.
    Error.stackTraceLimit = 0
    super(message ?? apiErrors[kind][2], { cause })
    Error.stackTraceLimit = stackTraceLimit
    this.statusCode = apiErrors[kind][0]
    this.error = apiErrors[kind][1]
  }
}
