/** The API of webhooks over a real database, without the work that delivers; each answer is held against the document. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { Check } from 'typebox/value'
import type { AuditEvent } from '../../../src/domain/audit.ts'
import { SCOPES, type Scope } from '../../../src/domain/identity/caller.ts'
import { invalidCredential } from '../../../src/domain/identity/credential.ts'
import { type AccountId, createIdSource } from '../../../src/domain/ids.ts'
import type { NewEvent } from '../../../src/features/deps.ts'
import { createPace, eventStreamRoute, eventsRoutes } from '../../../src/features/webhooks/event-routes.ts'
import { eventRecorder } from '../../../src/features/webhooks/events.ts'
import type { MailRules } from '../../../src/features/webhooks/recipients.ts'
import { deliveryRoutes, webhooksRoutes } from '../../../src/features/webhooks/routes.ts'
import { createWebhookSecrets } from '../../../src/features/webhooks/secrets.ts'
import { type Authenticate, callerOf, requireCaller } from '../../../src/http/caller.ts'
import { createEventStreams } from '../../../src/http/event-stream.ts'
import { documentErrors, serveOpenApi } from '../../../src/http/openapi.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { openLog } from '../../../src/telemetry/log.ts'
import { temporaryDatabase } from '../database.ts'
import { keyCaller } from '../identity/caller.ts'

export const HOME = 'acc_home' as AccountId
export const AWAY = 'acc_away' as AccountId
/** What every name leads to. */
const PUBLIC_ADDRESS = '93.184.215.14'

export interface WebhookApiOptions {
  readonly allowPrivateNetworks?: boolean
  readonly resolve?: (hostname: string) => Promise<readonly string[]>
  readonly pace?: (accountId: AccountId) => void
  readonly mail?: MailRules
}

interface Asked {
  /** The account, and behind it, after a space, the scopes where it has not all of them. */
  readonly as?: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface ApiAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  readonly body: any
  readonly text: string
  readonly headers: Readonly<Record<string, unknown>>
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type WebhookApi = Awaited<ReturnType<typeof openWebhookApi>>

export async function openWebhookApi(t: TestContext, options: WebhookApiOptions = {}) {
  const { db } = await temporaryDatabase(t)
  await db
    .insertInto('account')
    .values([HOME, AWAY].map((id) => ({ id, name: id, plan: 'free', created_at: 1, changed_at: 1 })))
    .execute()
  const clock = { now: Date.now() }
  const now = () => clock.now
  const ids = createIdSource(now, randomBytes)
  const app = await createHttpServer({
    newRequestId: ids.request,
    trustProxy: [],
    corsOrigins: [],
    onError: (error) => void (error.status === 500 && console.error(error.cause)),
    draining: () => false,
  })
  t.after(() => app.close())
  const revoked = new Set<string>()
  const audit: AuditEvent[] = []
  const recordEvent = eventRecorder({ now, ids })
  const authenticate = authenticatorOf(revoked)
  const settings = { allowPrivateNetworks: options.allowPrivateNetworks ?? false }
  const secrets = createWebhookSecrets({ current: Buffer.alloc(32, 5) })
  const deps = {
    db,
    now,
    ids,
    callerOf,
    cursorKey: Buffer.alloc(32, 1),
    writeAudit: async (_db: unknown, event: AuditEvent) => void audit.push(event),
    recordEvent,
    secrets,
    allowPrivateNetworks: () => settings.allowPrivateNetworks,
    resolve: options.resolve ?? (async () => [PUBLIC_ADDRESS]),
    ...(options.mail && { mail: () => options.mail as MailRules }),
    pace: options.pace ?? createPace(now),
    listeners: createEventStreams(),
    pollIntervalMs: 10,
    authenticate,
    log: (await openLog({ level: 'silent', terminal: false })).log,
  }
  await serveOpenApi(app, { version: '0.0.0', publicUrl: 'http://localhost' })
  await app.register(async (api) => {
    documentErrors(api)
    requireCaller(api, authenticate)
    for (const routes of [webhooksRoutes, deliveryRoutes, eventsRoutes, eventStreamRoute])
      await api.register(routes(deps))
  })
  let url: Promise<string> | undefined
  const ask = async (
    method: Method,
    path: string,
    { as = HOME, body, headers = {} }: Asked = {},
  ): Promise<ApiAnswer> => {
    const payload = body === undefined ? {} : { payload: body }
    const answer = await app.inject({ method, url: path, headers: { authorization: as, ...headers }, ...payload })
    const shown = answer.body === '' ? undefined : answer.json()
    if (answer.statusCode < 300)
      assertDocumented({ method, path, status: answer.statusCode, body: shown }, app.swagger())
    return { status: answer.statusCode, body: shown, text: answer.body, headers: answer.headers }
  }
  return {
    db,
    ids,
    clock,
    audit,
    secrets,
    settings,
    ask,
    /** From now on this credential is nobody's. */
    revoke: (credential: string) => void revoked.add(credential),
    create: async (body: object = {}) =>
      (await ask('POST', '/webhooks', { body: { url: URL_OF_TESTS, ...body } })).body,
    record: <Event extends NewEvent>(event: Event) => db.transaction().execute((inside) => recordEvent(inside, event)),
    /** Where it listens, on a real socket. */
    listen(): Promise<string> {
      url ??= app.listen({ host: '127.0.0.1', port: 0 })
      return url
    },
    close: () => app.close(),
  }
}

export const URL_OF_TESTS = 'https://receiver.example.com/turnpike'

function authenticatorOf(revoked: ReadonlySet<string>): Authenticate {
  return (credential = '') => {
    if (revoked.has(credential)) throw invalidCredential()
    const [id, scopes] = credential.split(' ')
    return keyCaller({
      accountId: id as AccountId,
      scopes: new Set(scopes === undefined ? SCOPES : (scopes.split(',') as Scope[])),
    })
  }
}

interface SeenAnswer {
  readonly method: Method
  readonly path: string
  readonly status: number
  readonly body: unknown
}

interface Operation {
  readonly responses?: Readonly<Record<string, { content?: Readonly<Record<string, { schema?: object }>> }>>
}

/** The answer has the fields that the document says, and no others. */
function assertDocumented({ method, path, status, body }: SeenAnswer, document: object): void {
  const { paths } = document as { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> } // OpenAPI's
  const plain = path.split('?', 1)[0]?.replace(/\/$/, '') ?? ''
  const matching = Object.keys(paths).filter((template) =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(plain),
  )
  const template = matching.toSorted((a, b) => b.split('{').length - a.split('{').length).at(-1) ?? ''
  const response = paths[template]?.[method.toLowerCase()]?.responses?.[String(status)]
  assert.ok(response, `${method} ${path} ${status} is not in the document`)
  const schema = response.content?.['application/json']?.schema
  const isDocumented = schema === undefined ? body === undefined : Check(closed(schema), body)
  assert.ok(isDocumented, `${method} ${path} answers other than documented: ${JSON.stringify(body)}`)
}

/** The same schema, without room for what it does not name. */
function closed(schema: unknown): object {
  if (typeof schema !== 'object' || schema === null) return schema as never
  if (Array.isArray(schema)) return schema.map(closed)
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]))
  return 'properties' in schema && !('additionalProperties' in schema)
    ? { ...parts, additionalProperties: false }
    : parts
}
