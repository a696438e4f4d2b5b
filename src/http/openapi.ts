/**
 * `GET /openapi.json`: the schemas of all routes, with operation IDs, formats of identifiers, and links between operations.
 */
import fastifySwagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { ChatCompletion, ChatCompletionRequest, ErrorBody } from './chat-route.ts'
import { Message, MessagesError, MessagesRequest } from './messages-route.ts'
import { ResponseResource, ResponsesRequest } from './responses-route.ts'
import {
  CompletionsRequest,
  Embeddings,
  EmbeddingsRequest,
  Ranking,
  RerankRequest,
  TextCompletion,
} from './task-routes.ts'

interface OpenApiInput {
  readonly version: string
  readonly publicUrl: string
}

const SCHEMAS = [
  ErrorBody,
  ChatCompletionRequest,
  ChatCompletion,
  MessagesRequest,
  Message,
  MessagesError,
  CompletionsRequest,
  TextCompletion,
  EmbeddingsRequest,
  Embeddings,
  RerankRequest,
  Ranking,
  ResponsesRequest,
  ResponseResource,
]

/** Documents error responses on every route of `app` that is registered later. */
export function documentErrors(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { schema } = route
    if (schema === undefined) return
    const errors = { '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') }
    route.schema = { ...schema, response: { ...errors, ...(schema.response as object | undefined) } }
  })
}

/** Serves the schemas of all routes that are registered later as `GET /openapi.json` (OpenAPI 3.1). */
export async function serveOpenApi(app: FastifyInstance, { version, publicUrl }: OpenApiInput): Promise<void> {
  for (const schema of SCHEMAS) app.addSchema(schema)
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Turnpike',
        version,
        description: 'One OpenAI-compatible endpoint for every provider, with exact usage accounting.',
      },
      servers: [{ url: publicUrl }],
      security: [{ bearer: [] }, { basic: [] }, { apiKey: [] }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key.' },
          basic: { type: 'http', scheme: 'basic', description: 'An API key as user name, with an empty password.' },
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'x-api-key',
            description: 'An API key, as clients of the Messages API send it.',
          },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: '__Host-turnpike',
            description: 'Session cookie of the dashboard.',
          },
        },
      },
    },
    refResolver: { buildLocalReference: (json, _base, _fragment, index) => String(json['$id'] ?? `schema-${index}`) },
  })
  let document: string | undefined
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify(withDetails(app.swagger()))
    return reply.type('application/json; charset=utf-8').send(document)
  })
}

/** Copies the generated document, which the framework keeps. */
function withDetails(generated: object): OpenApiDocument {
  const document = structuredClone(generated) as OpenApiDocument // generated from the routes
  addDetails(document)
  return document
}

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly pattern?: string
  readonly examples?: readonly string[]
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  schema: Schema
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>
interface Response {
  description: string
  content?: Content
  links?: Record<string, Link>
}
interface Link {
  readonly operationId: string
  readonly description: string
  readonly parameters: Readonly<Record<string, string>>
}
interface Operation {
  operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { required?: boolean; readonly content?: Content }
  readonly responses: Record<string, Response>
}
/** The parts that are used here. */
interface OpenApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

interface Endpoint {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  '4XX': 'The gateway rejected the request; `error.code` has the reason.',
  '5XX': 'The gateway or a provider failed; `error.type` tells whether to retry.',
}
/** Routes that accept a request without a body. */
const OPTIONAL_BODIES: ReadonlySet<string> = new Set([
  '/auth/session',
  '/v1/keys/{id}/rotate',
  '/v1/webhooks/{id}/rotate_secret',
])
/** Prefixes of identifiers by collection. */
const PREFIXES: Readonly<Record<string, string>> = {
  accounts: 'acc_',
  agents: 'agt_',
  completions: 'chatcmpl-',
  deliveries: 'dlv_',
  devices: 'dev_',
  invitations: 'ivt_',
  invoices: 'inv_',
  keys: 'key_',
  members: 'usr_',
  'provider-credentials': 'pcr_',
  responses: 'resp_',
  sessions: 'ses_',
  webhooks: 'whk_',
}

/** Completes a generated document in place. */
function addDetails(document: OpenApiDocument): void {
  const endpoints = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]): Endpoint => ({ method, path, operation })),
  )
  for (const endpoint of endpoints) {
    const { operation, path } = endpoint
    operation.operationId = operationId(endpoint)
    if (operation.requestBody !== undefined) operation.requestBody.required = !OPTIONAL_BODIES.has(path)
    for (const parameter of operation.parameters ?? []) describeParameter(parameter, path)
    for (const [status, response] of Object.entries(operation.responses)) {
      if (response.description === 'Default Response') response.description = DESCRIPTIONS[status] ?? 'Success.'
    }
  }
  for (const endpoint of endpoints) addLinks(endpoint, endpoints)
}

/** Returns an operation ID such as `patchKeysById` for `PATCH /v1/keys/{id}`. */
function operationId({ method, path }: Endpoint): string {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== 'v1')
  const words = segments.map((segment) => pascal(segment.startsWith('{') ? `by_${segment}` : segment))
  return method + words.join('')
}

function pascal(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

/**
 * Describes an identifier or number; validation itself also admits other identifiers, which get 404, and numbers as text.
 */
function describeParameter(parameter: Parameter, path: string): void {
  const { anyOf, ...rest } = parameter.schema
  const integer = anyOf?.find(({ type }) => type === 'integer')
  if (parameter.in === 'query' && integer !== undefined) parameter.schema = { ...integer, ...rest }
  const prefix = parameter.in === 'path' ? PREFIXES[collectionOf(path, parameter.name)] : undefined
  if (prefix === undefined) return
  const examples = [`${prefix}00000000exampleexample`]
  parameter.schema = { ...parameter.schema, pattern: `^${prefix}[0-9A-Za-z]{22}$`, examples }
}

function collectionOf(path: string, parameter: string): string {
  const segments = path.split('/')
  return segments[segments.indexOf(`{${parameter}}`) - 1] ?? ''
}

/** Links a response with an ID, or a list, to the operations on it, and a list to its next page. */
function addLinks(endpoint: Endpoint, endpoints: readonly Endpoint[]): void {
  const { path, operation } = endpoint
  const [status, response] = Object.entries(operation.responses).find(([code]) => /^20[012]$/.test(code)) ?? []
  const properties = response?.content?.['application/json']?.schema?.properties
  if (status === undefined || response === undefined) return
  const collection = LINKED_FROM[path] ?? path
  const links = endpoints.flatMap((target) => linkTo(target, { endpoint, collection, properties }))
  if (links.length > 0) response.links = Object.fromEntries(links)
}

/** Responses whose IDs belong to another collection, or whose schema is one of several. */
const LINKED_FROM: Readonly<Record<string, string>> = {
  '/v1/chat/completions': '/v1/usage/completions',
  '/v1/responses': '/v1/responses',
  '/v1/webhooks/{id}/test': '/v1/webhooks/{id}/deliveries',
}

function linkTo(
  target: Endpoint,
  { endpoint, collection, properties }: { endpoint: Endpoint; collection: string; properties: Schema['properties'] },
): readonly (readonly [string, Link])[] {
  const { operationId = '' } = target.operation
  if (target === endpoint && properties?.['next_cursor'] !== undefined) {
    const parameters = { ...outerParameters(collection), cursor: '$response.body#/next_cursor' }
    return [['nextPage', { operationId, description: 'The next page.', parameters }]]
  }
  const [, name] = target.path.startsWith(`${collection}/`)
    ? (/^\{(\w+)\}(?:\/[^{]*)?$/.exec(target.path.slice(collection.length + 1)) ?? [])
    : []
  if (name === undefined) return []
  const isList = properties?.['data'] !== undefined
  const isCreated =
    endpoint.method === 'post' && (LINKED_FROM[endpoint.path] !== undefined || properties?.['id'] !== undefined)
  if (!isCreated && !(isList && target.method === 'get')) return []
  const field = isCreated ? 'id' : `data/0/${name === 'name' ? 'name' : 'id'}`
  const parameters = { ...outerParameters(collection), [name]: `$response.body#/${field}` }
  const description = isCreated ? 'With the ID of this response.' : 'With the ID of the first item.'
  return [[operationId, { operationId, description, parameters }]]
}

/** Parameters of the path before the item's own. */
function outerParameters(path: string): Record<string, string> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return Object.fromEntries(names.map((name) => [name, `$request.path.${name}`]))
}
