import type { SwaggerTransform } from '@fastify/swagger'

/**
 * The route's own transform for `@fastify/swagger`: adds what depends on the host's document. An operation may only
 * name a security scheme that the document declares, and its `operationId` must be unique (OpenAPI 3.1, 4.8.10).
 */
export const describeOperation: SwaggerTransform = input => {
  const { schema, url } = input
  if (!('openapiObject' in input)) return { schema, url }
  const { components = {}, paths = {} } = input.openapiObject
  const schemes = Object.entries(components.securitySchemes ?? {})
  const [own] = schemes.find(([, scheme]) => 'scheme' in scheme && scheme.scheme === 'bearer') ?? []
  if (own === undefined) {
    const bearer = { type: 'http', scheme: 'bearer', description: 'An access token, as in RFC 6750' } as const
    components.securitySchemes = { ...components.securitySchemes, bearer }
  }
  const isTaken = Object.values(paths).some(path => path?.post?.operationId === 'createPlant')
  const operationId = isTaken ? `createPlant${url.replace(/\W+/g, '_')}` : 'createPlant'
  return { schema: { operationId, security: [{ [own ?? 'bearer']: [] }], ...schema }, url }
}
