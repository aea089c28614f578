/** Every non-2xx response: its status, its error number (the status and a count), and its message. */
export const errorCodes = {
  requestMalformed: [400, 40000, 'The request is not well-formed HTTP'],
  bodyMissing: [400, 40001, 'The request has no body: send a plant as JSON, for example {"id":1,"name":"Monstera"}'],
  bodyNotJson: [400, 40002, 'The body is not acceptable JSON'],
  plantInvalid: [400, 40003, 'The plant is not valid: it must be a JSON object with an id and a name'],
  idTaken: [400, 40004, 'Another plant has this id: choose another id'],
  credentialsMissing: [401, 40101, 'No well-formed credentials: send the header Authorization: Bearer <ACCESS_TOKEN>'],
  tokenUnknown: [401, 40102, 'The access token is not accepted'],
  pathUnknown: [404, 40401, 'There is no such endpoint: plants are created with POST /plants'],
  methodNotAllowed: [405, 40501, 'This path does not accept the method: use one that the header Allow names'],
  requestTimeout: [408, 40801, 'The request took too long to arrive'],
  bodyTooLarge: [413, 41301, 'The body is too large'],
  mediaTypeUnsupported: [415, 41501, 'The body must be JSON, unencoded: send the header Content-Type: application/json'],
  headersTooLarge: [431, 43101, 'The request headers are too large'],
  internal: [500, 50001, 'The service failed and the plant may have been stored: retrying the same plant is safe'],
  notStored: [503, 50301, 'This request did not store the plant: retry later'],
  outcomeUnknown: [504, 50401, 'The plant may have been stored: retry the same plant, which is always safe']
} as const satisfies Record<string, readonly [status: number, error: number, message: string]>

/** The name of a row of `errorCodes`. */
export type ErrorName = keyof typeof errorCodes

/** `code` of an ApiError, for hooks: `PLANT_STORE_ID_TAKEN` for `idTaken`. */
export type ErrorCode = `PLANT_STORE_${SnakeCase<ErrorName>}`

type SnakeCase<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? Uppercase<First> : `_${First}`}${SnakeCase<Rest>}`
  : S

const codes = Object.fromEntries(Object.keys(errorCodes).map(name => (
  [name, `PLANT_STORE_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`]
))) as Record<ErrorName, ErrorCode>

/** A non-2xx response, which any code may throw and the error handler sends; `error` is from `errorCodes`. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly statusCode: number
  readonly error: number
  readonly code: ErrorCode

  /** @param cause the original error, for the log only */
  constructor (readonly kind: ErrorName, message?: string, cause?: unknown) {
    const { stackTraceLimit } = Error
    // An ApiError is a response, not a fault: capturing a stack would cost more than the rest of the response.
    Error.stackTraceLimit = 0
    super(message ?? errorCodes[kind][2], { cause })
    Error.stackTraceLimit = stackTraceLimit
    this.statusCode = errorCodes[kind][0]
    this.error = errorCodes[kind][1]
    this.code = codes[kind]
  }
}
