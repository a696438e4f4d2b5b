import fastifySwagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { ChatCompletion, ChatCompletionRequest, ErrorBody } from './chat-schema.ts'

export interface OpenApiInput {
  readonly version: string
  readonly publicUrl: string
}

/** Every route of `app` registered after it documents that it may answer with the error shape. */
export function documentErrors(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { schema } = route
    if (schema === undefined) return
    const errors = { '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') }
    route.schema = { ...schema, response: { ...(schema.response as object | undefined), ...errors } }
  })
}

/** Collects the schemas of all routes registered after it, and serves them as `GET /openapi.json` (OpenAPI 3.1). */
export async function serveOpenApi(app: FastifyInstance, { version, publicUrl }: OpenApiInput): Promise<void> {
  for (const schema of [ErrorBody, ChatCompletionRequest, ChatCompletion]) app.addSchema(schema)
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Turnpike',
        version,
        description: 'One OpenAI-compatible endpoint for every provider, with exact usage and honest errors.',
      },
      servers: [{ url: publicUrl }],
      security: [{ bearer: [] }, { basic: [] }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key.' },
          basic: { type: 'http', scheme: 'basic', description: 'An API key as user name, with an empty password.' },
        },
      },
    },
    refResolver: { buildLocalReference: (json, _base, _fragment, index) => String(json['$id'] ?? `schema-${index}`) },
  })
  let document: string | undefined
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify(app.swagger())
    return reply.type('application/json; charset=utf-8').send(document)
  })
}
