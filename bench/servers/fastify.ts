import bearerAuth from '@fastify/bearer-auth'
import { Type, TypeBoxValidatorCompiler, type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify from 'fastify'
import { openPeerStore } from './peer-store.js'
import { token } from './serving.js'

/** Fastify as in its guides: compiled TypeBox schemas for the body and the responses, @fastify/bearer-auth. */
const Plant = Type.Object({ name: Type.String(), tag: Type.Optional(Type.String()) })
const NewPlant = Type.Object({ id: Type.Integer(), ...Plant.properties })
const Refusal = Type.Object({ statusCode: Type.Integer(), error: Type.String(), message: Type.String() })

const insert = await openPeerStore()
const app = fastify().setValidatorCompiler(TypeBoxValidatorCompiler).withTypeProvider<TypeBoxTypeProvider>()
if (process.env.TOKEN !== 'none') await app.register(bearerAuth, { keys: new Set([token]) })

app.post('/plants', { schema: { body: NewPlant, response: { 200: Plant, 400: Refusal } } }, async (request, reply) => {
  if (await insert(request.body)) return request.body
  return reply.code(400).send({ statusCode: 400, error: 'Bad Request', message: 'this id is taken' })
})

console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
