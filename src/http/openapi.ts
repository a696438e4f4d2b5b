/**
 * `GET /openapi.json`: the schemas of all routes, with operation IDs, formats of identifiers, and links between operations.
 * `GET /docs`: the same document as a page.
 */
import fastifySwagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { escapeHtml } from '../lib/escape.ts'
import { ChatCompletion, ChatCompletionRequest, ErrorBody } from './chat-route.ts'
import { CompletionsRequest, TextCompletion } from './completions-route.ts'
import { Embeddings, EmbeddingsRequest } from './embeddings-route.ts'
import { Message, MessagesError, MessagesRequest } from './messages-route.ts'
import { PAGE_HEADERS } from './pages/page-headers.ts'
import { Ranking, RerankRequest } from './rerank-route.ts'
import { ResponseResource, ResponsesRequest } from './responses-route.ts'

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
const OPTIONAL_BODIES: ReadonlySet<string> = new Set(['/auth/session', '/v1/webhooks/{id}/rotate_secret'])
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

/** Serves `GET /docs`: the OpenAPI document as a page, without script or content of other origins. */
export function docsRoute(app: FastifyInstance): void {
  let page: string | undefined
  app.get('/docs', { schema: { hide: true } }, (_request, reply) => {
    page ??= renderDocument(app.swagger() as object as OpenApiDocument) // generated from the routes
    return reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(page)
  })
}

function renderDocument(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const contents = operations.map(
    ({ path, method }) => `<li><a href="#${anchor(method, path)}">${method} ${escapeHtml(path)}</a></li>`,
  )
  const sections = operations.map((each) => renderOperation(document, each))
  const { title, version, description = '' } = document.info
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} API</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif }
  body { max-width: 52rem; margin: 3rem auto; padding: 0 1.25rem }
  code { font: 0.9em ui-monospace, monospace }
  h2 { margin-top: 3rem; border-top: 1px solid #8884; padding-top: 1.5rem; overflow-wrap: anywhere }
  table { border-collapse: collapse; width: 100%; margin: 1rem 0 } td, th { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem; border-bottom: 1px solid #8883 }
</style>
<h1>${escapeHtml(title)} ${escapeHtml(version)}</h1>
<p>${escapeHtml(description)} OpenAPI document: <a href="/openapi.json">/openapi.json</a>.</p>
<ul>${contents.join('')}</ul>
${sections.join('\n')}
</html>
`
}

function renderOperation(document: OpenApiDocument, { path, method, operation }: Endpoint): string {
  const { summary = '', description = '', parameters = [], requestBody } = operation
  const rows = parameters.map(({ name, in: where, required, schema, description: text }) =>
    renderRow({ name, where, required, schema: { ...schema, description: text ?? schema.description ?? '' } }),
  )
  const body = resolve(document, requestBody?.content?.['application/json']?.schema)
  for (const [name, schema] of Object.entries(body?.properties ?? {})) {
    rows.push(renderRow({ name, where: 'body', required: body?.required?.includes(name), schema }))
  }
  const head = '<tr><th>Name</th><th>In</th><th>Type</th><th>Meaning</th></tr>'
  const table = rows.length === 0 ? '' : `<table>${head}${rows.join('')}</table>`
  return `<section id="${anchor(method, path)}"><h2><code>${method} ${escapeHtml(path)}</code></h2>
<p><strong>${escapeHtml(summary)}</strong> ${escapeHtml(description)}</p>${table}</section>`
}

interface Row {
  readonly name: string
  readonly where: string
  readonly required: boolean | undefined
  readonly schema: Schema
}

function renderRow({ name, where, required, schema }: Row): string {
  const type = [schema.type ?? 'any'].flat().join(' or ')
  const cells = [
    `<code>${escapeHtml(name)}</code>${required ? ' (required)' : ''}`,
    where,
    escapeHtml(type),
    escapeHtml(schema.description ?? ''),
  ]
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

function resolve({ components }: OpenApiDocument, schema: Schema | undefined): Schema | undefined {
  const name = schema?.$ref?.split('/').at(-1)
  return name === undefined ? schema : components?.schemas?.[name]
}

function anchor(method: string, path: string): string {
  return `${method.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+/g, '-')}`
}
