import type { FastifyInstance, FastifySchemaCompiler, RouteOptions } from 'fastify'
import type { FastifySerializerCompiler } from 'fastify/types/schema.js'
import { newPlantSchema, responseSerializer, validatorCompiler } from './compilers.js'

/**
 * Sets compilers on the route that compile the plugin's schemas, and leave every other, which an `onRoute` hook of the
 * host has added, to the compilers of the scope, as on any route. A compiler that such a hook has set for the whole
 * route stays.
 */
export function setCompilers (app: FastifyInstance, route: RouteOptions): void {
  const { body, params, querystring, query, headers, response }: Record<string, any> = route.schema ?? {}
  const bodies = contentsOf(body)
  const others = [params, querystring, query, headers].filter(schema => schema !== undefined)
  const responses = Object.values(response ?? {}).flatMap(contentsOf)
  // Until the app starts, a scope has only a compiler that the app has set.
  const isCustom = app.validatorCompiler !== undefined

  const validators: FastifySchemaCompiler<any> = definition => {
    const { schema, httpPart } = definition
    const newPlant = httpPart === 'body' ? newPlantSchema(schema) : undefined
    if (newPlant !== undefined) return validatorCompiler({ ...definition, schema: newPlant })
    const validatorOfScope = compilerOfScope('validatorCompiler')
    if (httpPart !== 'headers' || isCustom) return validatorOfScope(definition)
    return validatorOfScope({ ...definition, schema: withLowerCaseNames(schema) })
  }
  const serializers: FastifySerializerCompiler<any> = definition =>
    responseSerializer(definition.schema) ?? compilerOfScope('serializerCompiler')(definition)

  function compilerOfScope<N extends 'validatorCompiler' | 'serializerCompiler'> (name: N) {
    const compiler = app[name]
    if (compiler === undefined) throw new TypeError(`the scope has no ${name}`)
    return compiler
  }

  function set (name: 'validatorCompiler' | 'serializerCompiler', compiler: Function, needsScope: boolean): void {
    if (route[name] !== undefined) return
    // Fastify makes the compilers of a scope while it starts, for the first route that has none of its own. So this
    // route has none until then.
    const get = () => needsScope && app[name] === undefined ? undefined : compiler
    Object.defineProperty(route, name, { get, enumerable: true, configurable: true })
  }

  // After Fastify has given the route's compilers to its requests: `request.validateInput` and `reply.serializeInput`
  // of a host use the scope's.
  app.after(() => {
    set('validatorCompiler', validators, others.length > 0 || !bodies.every(newPlantSchema))
    set('serializerCompiler', serializers, !responses.every(responseSerializer))
  })
}

/** The schemas of a body or of a response: one for each media type if it has `content`. */
function contentsOf (schema: any): unknown[] {
  if (schema === undefined) return []
  return schema?.content === undefined ? [schema] : Object.values<any>(schema.content).map(({ schema }) => schema)
}

/** As Fastify does for its default compiler: Node has the names of headers in lower case. */
function withLowerCaseNames (schema: any): any {
  if (Array.isArray(schema)) return schema.map(withLowerCaseNames)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries<any>(schema).map(([keyword, value]) => {
    if (keyword === 'required' && Array.isArray(value)) return [keyword, value.map(name => String(name).toLowerCase())]
    if (keyword !== 'properties') return [keyword, withLowerCaseNames(value)]
    const properties = Object.entries(value).map(([name, inner]) => [name.toLowerCase(), withLowerCaseNames(inner)])
    return [keyword, Object.fromEntries(properties)]
  })
  return { ...schema, ...Object.fromEntries(entries) }
}
