/** `/scim/v2`: RFC 7644, as far as Okta and Entra use it. Errors have its form; the bearer token is an API key. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayError } from '../../../domain/errors.ts'
import type { AccountId, GroupId, UserId } from '../../../domain/ids.ts'
import { routeNotFound, toGatewayError } from '../../../http/errors.ts'
import { requesterOf } from '../../../http/request-origin.ts'
import { isoTime } from '../../../http/wire-fields.ts'
import { isRecord } from '../../../lib/json.ts'
import type { FeatureDeps } from '../../deps.ts'
import {
  changeGroup,
  changeUser,
  createGroup,
  createUser,
  type ProvisionDeps,
  removeGroup,
  removeUser,
  unknownResource,
} from './provision.ts'
import {
  applyPatch,
  attributeOf,
  ENTERPRISE_USER,
  ERROR,
  GROUP,
  LIST,
  MAX_RESULTS,
  parseFilter,
  RESOURCE_TYPES,
  type Resource,
  SCHEMAS,
  ScimError,
  SERVICE_PROVIDER_CONFIG,
  USER,
} from './resource.ts'
import {
  findGroup,
  findUser,
  groupsOfUsers,
  listGroups,
  listUsers,
  membersOfGroups,
  type ScimGroup,
  type ScimUser,
} from './store.ts'

export interface ScimDeps extends ProvisionDeps, Pick<FeatureDeps, 'callerOf'> {
  /** Without trailing slash. */
  readonly publicUrl: string
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
  readonly onError: (error: GatewayError, requestId: string) => void
}

const config = { scope: 'scim' } as const
const route = { config, schema: { hide: true } }
const USUAL_RESULTS = 100

/** Its routes require a caller. */
export function addScimRoutes(app: FastifyInstance, deps: ScimDeps): void {
  app.setErrorHandler((error: Error, request, reply) => sendError(deps, error, { request, reply }))
  // Of this prefix, so that the server's errors for unknown paths and methods have the form of SCIM.
  app.setNotFoundHandler(({ method, url }) => {
    throw routeNotFound(method, url, [])
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (reply.statusCode !== 204) reply.type('application/scim+json; charset=utf-8')
    done()
  })
  addDiscovery(app)
  addUserRoutes(app, deps)
  addGroupRoutes(app, deps)
}

function addDiscovery(app: FastifyInstance): void {
  app.get('/ServiceProviderConfig', route, () => SERVICE_PROVIDER_CONFIG)
  for (const [path, resources] of Object.entries({ '/ResourceTypes': RESOURCE_TYPES, '/Schemas': SCHEMAS })) {
    app.get(path, route, () => listResponse(resources, { total: resources.length, startIndex: 1 }))
    app.get<{ Params: { id: string } }>(`${path}/:id`, route, ({ params: { id } }) => {
      const found = (resources as readonly { readonly id: string }[]).find((each) => each.id === id)
      if (found === undefined) throw new ScimError(404, 'No resource has this ID.')
      return found
    })
  }
}

interface ById {
  Params: { id: string }
  Querystring: Query
  Body: unknown
}

function addUserRoutes(app: FastifyInstance, deps: ScimDeps): void {
  const { db, callerOf, changed } = deps
  const render = async (request: FastifyRequest, user: ScimUser) =>
    (await userRenderer(deps, callerOf(request).accountId, [user]))(user)
  app.get<{ Querystring: Query }>('/Users', route, async (request) => {
    const { accountId } = callerOf(request)
    const window = windowOf(request.query)
    const { total, rows } = await listUsers(db, accountId, window)
    const rendered = await userRenderer(deps, accountId, rows)
    return listResponse(rows.map(rendered).map(selected(request.query)), { total, startIndex: window.offset + 1 })
  })
  app.post('/Users', route, async (request, reply) => {
    const user = await createUser(deps, requesterOf(request, callerOf(request)), bodyOf(request.body))
    await changed()
    return reply
      .code(201)
      .header('location', locationOf(deps, 'Users', user.userId))
      .send(await render(request, user))
  })
  app.get<ById>('/Users/:id', route, async (request) => {
    const { accountId } = callerOf(request)
    const user = await findUser(db, { accountId, userId: request.params.id as UserId })
    if (user === undefined) throw unknownResource('user')
    return selected(request.query)(await render(request, user))
  })
  const change = async (request: FastifyRequest<ById>, to: (before: Resource) => Resource) => {
    const userId = request.params.id as UserId
    const user = await changeUser(deps, requesterOf(request, callerOf(request)), { userId, change: to })
    await changed()
    return render(request, user)
  }
  app.put<ById>('/Users/:id', route, (request) => change(request, () => bodyOf(request.body)))
  app.patch<ById>('/Users/:id', route, (request) => change(request, (before) => applyPatch(before, request.body)))
  app.delete<ById>('/Users/:id', route, async (request, reply) => {
    await removeUser(deps, requesterOf(request, callerOf(request)), request.params.id as UserId)
    await changed()
    return reply.code(204).send()
  })
}

function addGroupRoutes(app: FastifyInstance, deps: ScimDeps): void {
  const { db, callerOf, changed } = deps
  const render = async (request: FastifyRequest, group: ScimGroup) =>
    (await groupRenderer(deps, callerOf(request).accountId, [group]))(group)
  app.get<{ Querystring: Query }>('/Groups', route, async (request) => {
    const { accountId } = callerOf(request)
    const window = windowOf(request.query)
    const { total, rows } = await listGroups(db, accountId, window)
    const rendered = await groupRenderer(deps, accountId, rows)
    return listResponse(rows.map(rendered).map(selected(request.query)), { total, startIndex: window.offset + 1 })
  })
  app.post('/Groups', route, async (request, reply) => {
    const group = await createGroup(deps, requesterOf(request, callerOf(request)), bodyOf(request.body))
    await changed()
    return reply
      .code(201)
      .header('location', locationOf(deps, 'Groups', group.id))
      .send(await render(request, group))
  })
  app.get<ById>('/Groups/:id', route, async (request) => {
    const { accountId } = callerOf(request)
    const group = await findGroup(db, { accountId, id: request.params.id as GroupId })
    if (group === undefined) throw unknownResource('group')
    return selected(request.query)(await render(request, group))
  })
  const change = async (request: FastifyRequest<ById>, to: (before: Resource) => Resource) => {
    const id = request.params.id as GroupId
    const group = await changeGroup(deps, requesterOf(request, callerOf(request)), { id, change: to })
    await changed()
    return render(request, group)
  }
  app.put<ById>('/Groups/:id', route, (request) => change(request, () => bodyOf(request.body)))
  app.patch<ById>('/Groups/:id', route, (request) => change(request, (before) => applyPatch(before, request.body)))
  app.delete<ById>('/Groups/:id', route, async (request, reply) => {
    await removeGroup(deps, requesterOf(request, callerOf(request)), request.params.id as GroupId)
    await changed()
    return reply.code(204).send()
  })
}

interface Query {
  readonly filter?: string
  readonly startIndex?: string
  readonly count?: string
  readonly attributes?: string
  readonly excludedAttributes?: string
}

/** RFC 7644, 3.4.2.4: an index below 1 is 1, a count below 0 is 0. */
function windowOf({ filter, startIndex, count }: Query) {
  return {
    filter: filter === undefined || filter === '' ? [] : parseFilter(filter),
    offset: Math.max(1, wholeOr(startIndex, 1, 'startIndex')) - 1,
    count: Math.min(Math.max(0, wholeOr(count, USUAL_RESULTS, 'count')), MAX_RESULTS),
  }
}

function wholeOr(text: string | undefined, standard: number, name: string): number {
  if (text === undefined || text === '') return standard
  if (!/^-?\d{1,9}$/.test(text)) throw new ScimError(400, `'${name}' is a whole number.`, 'invalidValue')
  return Number(text)
}

/** Keeps the attributes that a client asks for; the required ones always. */
function selected({ attributes, excludedAttributes }: Query): (resource: Resource) => Resource {
  const named = (text: string) => new Set(text.split(',').map((name) => name.trim().split('.')[0]?.toLowerCase() ?? ''))
  const always = new Set(['schemas', 'id'])
  const wanted = attributes === undefined ? undefined : named(attributes)
  const unwanted = excludedAttributes === undefined ? undefined : named(excludedAttributes)
  if (wanted === undefined && unwanted === undefined) return (resource) => resource
  const isKept = (name: string) =>
    always.has(name) || (wanted === undefined ? unwanted?.has(name) !== true : wanted.has(name))
  return (resource) => Object.fromEntries(Object.entries(resource).filter(([name]) => isKept(name.toLowerCase())))
}

function bodyOf(body: unknown): Resource {
  if (isRecord(body)) return body
  throw new ScimError(400, 'The body is a JSON object.', 'invalidSyntax')
}

function listResponse(resources: readonly object[], { total, startIndex }: { total: number; startIndex: number }) {
  return { schemas: [LIST], totalResults: total, startIndex, itemsPerPage: resources.length, Resources: resources }
}

function locationOf({ publicUrl }: ScimDeps, kind: 'Users' | 'Groups', id: string): string {
  return `${publicUrl}/scim/v2/${kind}/${id}`
}

async function userRenderer(deps: ScimDeps, accountId: AccountId, users: readonly ScimUser[]) {
  const ids = users.map(({ userId }) => userId)
  const groups = Map.groupBy(await groupsOfUsers(deps.db, accountId, ids), (each) => each.user_id)
  return ({ userId, userName, externalId, active, resource, createdAt, updatedAt }: ScimUser): Resource => {
    const hasExtension = attributeOf(resource, ENTERPRISE_USER) !== undefined
    return {
      ...resource,
      schemas: [USER, ...(hasExtension ? [ENTERPRISE_USER] : [])],
      id: userId,
      userName,
      ...(externalId !== undefined && { externalId }),
      active,
      groups: (groups.get(userId) ?? []).map(({ id, display_name: display }) => ({ value: id, display })),
      meta: {
        resourceType: 'User',
        created: isoTime(createdAt),
        lastModified: isoTime(updatedAt),
        location: locationOf(deps, 'Users', userId),
      },
    }
  }
}

async function groupRenderer(deps: ScimDeps, accountId: AccountId, groups: readonly ScimGroup[]) {
  const ids = groups.map(({ id }) => id)
  const members = Map.groupBy(await membersOfGroups(deps.db, accountId, ids), (each) => each.group_id)
  return ({ id, displayName, externalId, createdAt, updatedAt }: ScimGroup): Resource => ({
    schemas: [GROUP],
    id,
    displayName,
    ...(externalId !== undefined && { externalId }),
    members: (members.get(id) ?? []).map(({ user_id, user_name }) => ({
      value: user_id,
      display: user_name,
      type: 'User',
      $ref: locationOf(deps, 'Users', user_id),
    })),
    meta: {
      resourceType: 'Group',
      created: isoTime(createdAt),
      lastModified: isoTime(updatedAt),
      location: locationOf(deps, 'Groups', id),
    },
  })
}

interface Failed {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

function sendError({ onError }: ScimDeps, error: Error, { request, reply }: Failed): FastifyReply {
  const ours = error instanceof ScimError ? undefined : toGatewayError(error as FastifyError)
  if (ours !== undefined) onError(ours, request.id)
  const { status, message } = ours ?? (error as ScimError)
  const scimType =
    error instanceof ScimError ? error.scimType : ours?.code === 'invalid_json' ? 'invalidSyntax' : undefined
  const retry = ours?.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(ours.retryAfterMs / 1000)) }
  const body = { schemas: [ERROR], status: String(status), ...(scimType && { scimType }), detail: message }
  return reply
    .code(status)
    .headers({ ...ours?.headers, ...retry })
    .type('application/scim+json')
    .send(body)
}
