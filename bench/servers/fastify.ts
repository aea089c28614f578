import bearerAuth from '@fastify/bearer-auth'
import { Type, TypeBoxValidatorCompiler, type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyInstance } from 'fastify'
import type { Insert } from './stores/group-commit.js'

/**
 * Fastify as in its guides: compiled TypeBox schemas for the body and the responses, @fastify/bearer-auth.
 * @param token undefined for a server that asks for none
 */
export async function fastifyApp (insert: Insert, token: string | undefined): Promise<FastifyInstance> {
  const Plant = Type.Object({ name: Type.String(), tag: Type.Optional(Type.String()) })
  const NewPlant = Type.Object({ id: Type.Integer(), ...Plant.properties })
  const Refusal = Type.Object({ statusCode: Type.Integer(), error: Type.String(), message: Type.String() })
  const schema = { body: NewPlant, response: { 200: Plant, 400: Refusal } }

  const app = fastify()
  app.setValidatorCompiler(TypeBoxValidatorCompiler)
  if (token !== undefined) await app.register(bearerAuth, { keys: new Set([token]) })
  app.withTypeProvider<TypeBoxTypeProvider>().post('/plants', { schema }, async (request, reply) => {
    if (await insert(request.body)) return request.body
    return reply.code(400).send({ statusCode: 400, error: 'Bad Request', message: 'this id is taken' })
  })
  return app
}
