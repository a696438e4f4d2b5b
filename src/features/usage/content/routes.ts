/**
 * `/usage/completions/:id/content` and `/usage/content`: captured prompts and answers. Every access is in the audit log.
 * `/content-capture`: which of them an account stores.
 */
import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import { nextChangedAt } from '../../../db/changed-at.ts'
import type { Database } from '../../../db/schema/schema.ts'
import { assertKnown } from '../../../db/shared-queries.ts'
import { tagsOfText } from '../../../domain/attribution.ts'
import type { AuditEvent } from '../../../domain/audit.ts'
import { API_NAMES, type CompletionStatus } from '../../../domain/completion.ts'
import { GatewayError } from '../../../domain/errors.ts'
import { type CaptureSettings, captureSettings } from '../../../domain/identity/caller.ts'
import type { AccountId, CompletionId, KeyId, UserId } from '../../../domain/ids.ts'
import { PAGE_QUERY, type PageSizes, readPageRequest, renderPage } from '../../../http/page.ts'
import { ALL_TIME, parsePeriod, timeParameter } from '../../../http/period.ts'
import { auditOf, requesterOf } from '../../../http/request-origin.ts'
import { closed, isoTime, oneOf } from '../../../http/wire-fields.ts'
import { isRecord, type Json } from '../../../lib/json.ts'
import type { FeatureDeps, ListDeps, WriteAudit } from '../../deps.ts'
import { type CompletionRow, findCompletion } from '../completion-list.ts'
import { FILTER_QUERY, readUntimedFilter } from '../completion-shapes.ts'
import { type Content, type ContentSealer, deleteContent, deleteContents, listCaptured, readContents } from './store.ts'

/** A prompt in the form of Chat Completions. */
interface Conversation {
  readonly messages: readonly object[]
  readonly tools?: readonly object[] | undefined
}

export interface ContentDeps extends ListDeps {
  readonly writeAudit: WriteAudit
  readonly sealer: ContentSealer
  /** The prompt of a body, whatever the API; undefined: it can no longer be read. @param endpoint `METHOD /path`. */
  readonly conversationOf: (endpoint: string, body: unknown) => Conversation | undefined
}

/** Lines of an export's page. */
export const MAX_EXPORT_LINES = 10_000
const EXPORT_SIZES: PageSizes = { usual: 1_000, most: MAX_EXPORT_LINES }
/** Contents in memory at a time, which may each be as large as `content_capture.max_bytes`. */
const READ_AT_ONCE = 20
const NOTHING_STORED =
  'Nothing is stored of this completion: it was not captured, was too large, or is past its retention.'

const config = { scope: 'content' } as const
const tags = ['Usage']
const AnyObject = Type.Record(Type.String(), Type.Unknown())
const Messages = Type.Array(AnyObject, {
  description: 'The prompt as messages of Chat Completions, whatever the API. Empty: it can no longer be read.',
})
const CONTENT_FIELDS = {
  api: oneOf(API_NAMES, { description: 'The API that the request came by.' }),
  request: Type.Object({}, { additionalProperties: true, description: 'The body, as guardrails left it.' }),
  messages: Messages,
  response: Type.Unsafe<Json | null>({
    type: ['object', 'null'],
    additionalProperties: true,
    description: 'The answer as a chat completion, whatever the API, as far as it was delivered. Null: none.',
  }),
}
const ContentView = Type.Object({
  id: Type.String({ description: 'ID of the completion.' }),
  object: Type.Literal('completion_content'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
  model: Type.String(),
  ...CONTENT_FIELDS,
})
const params = Type.Object({ id: Type.Unsafe<CompletionId>({ type: 'string' }) })
const readSchema = {
  summary: 'Get the prompt and answer of a completion',
  description: 'Only of completions that were captured; see docs/content-capture.md. The audit log has every access.',
  tags,
  params,
  response: { 200: ContentView },
}
const removeSchema = {
  summary: 'Delete the prompt and answer of a completion',
  tags,
  params,
  response: { 204: Type.Null() },
}
const { agent_id: _, client_request_id: __, request_id: ___, ...FILTERS } = FILTER_QUERY
const exportSchema = {
  summary: 'Export prompts and answers',
  description:
    'JSON Lines. `jsonl`: what the completion has, with its model, tags and content. `messages`: only `messages`, with the answer as the last one, and `tools`, as for fine-tuning. Filters are combined with AND.',
  tags,
  querystring: Type.Object({
    period_start: timeParameter('ISO 8601 UTC: only completions created at or after this time.'),
    period_end: timeParameter('ISO 8601 UTC: only completions created before this time.'),
    ...FILTERS,
    ...PAGE_QUERY,
    limit: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: MAX_EXPORT_LINES }), Type.String()], {
        description: `Lines: 1 to ${MAX_EXPORT_LINES}, by default 1000.`,
      }),
    ),
    format: Type.Optional(oneOf(['jsonl', 'messages'], { default: 'jsonl' })),
  }),
  response: {
    200: {
      description: 'The lines.',
      headers: {
        'x-next-cursor': { type: 'string', description: '`cursor` of the next page. Absent: there is none.' },
      },
      content: { 'application/jsonl': { schema: Type.String() } },
    },
  },
}
const ID = { maxLength: 100, pattern: '^[^\\u0000]*$' }
const eraseSchema = {
  summary: 'Delete prompts and answers',
  description: 'Deletes all that are stored of the account, or those of a key or a person.',
  tags,
  querystring: Type.Object({
    key_id: Type.Optional(Type.String({ ...ID, description: 'Only of this API key, device or signed-in person.' })),
    user_id: Type.Optional(
      Type.String({
        ...ID,
        description: 'Only of this person: signed in, by a device, or by the API keys that they created.',
      }),
    ),
  }),
  response: { 200: Type.Object({ object: Type.Literal('content_deletion'), deleted: Type.Integer() }) },
}

export function contentRoutes(deps: ContentDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf } = deps
  return async (app) => {
    app.get('/usage/completions/:id/content', { config, schema: readSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const { id } = request.params
      const row = await findCompletion(db, { accountId, id })
      const content = (await readContents(deps, accountId, [id])).get(id)
      if (row === undefined || content === undefined) throw new GatewayError('not_found', NOTHING_STORED)
      await audit(deps, request, { action: 'content.viewed', subject: id, details: {} })
      return renderContent(deps, row, content)
    })
    app.delete('/usage/completions/:id/content', { config, schema: removeSchema }, async (request, reply) => {
      const { accountId } = callerOf(request)
      const { id } = request.params
      await db.transaction().execute(async (inside) => {
        if (!(await deleteContent(inside, { accountId, id }))) throw new GatewayError('not_found', NOTHING_STORED)
        await audit({ ...deps, db: inside }, request, { action: 'content.deleted', subject: id, details: {} })
      })
      return reply.code(204).send(null)
    })
    app.get('/usage/content', { config, schema: exportSchema }, async (request, reply) => {
      await sendExport(deps, request, { query: request.query, reply })
      return reply
    })
    app.delete('/usage/content', { config, schema: eraseSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const { key_id: keyId, user_id: userId } = request.query
      const owner = { accountId, keyId: keyId as KeyId | undefined, userId: userId as UserId | undefined }
      const deleted = await deleteContents(db, owner)
      const details = { key_id: keyId ?? null, user_id: userId ?? null, completions: deleted }
      await audit(deps, request, { action: 'content.deleted', subject: undefined, details })
      return { object: 'content_deletion' as const, deleted }
    })
  }
}

async function audit(
  { db, writeAudit, callerOf }: ContentDeps,
  request: FastifyRequest,
  event: Pick<AuditEvent, 'action' | 'subject' | 'details'>,
): Promise<void> {
  await writeAudit(db, { ...auditOf(request, callerOf(request)), ...event, result: 'done' })
}

interface Export {
  readonly query: Static<typeof exportSchema.querystring>
  readonly reply: FastifyReply
}

async function sendExport(deps: ContentDeps, request: FastifyRequest, { query, reply }: Export): Promise<void> {
  const { db, callerOf, cursorKey } = deps
  const { accountId } = callerOf(request)
  const filter = { ...readUntimedFilter(query, accountId), period: parsePeriod(query, ALL_TIME) }
  const binding = { key: cursorKey, account: accountId, list: 'usage/content', filter: JSON.stringify(filter) }
  const page = readPageRequest(query, binding, EXPORT_SIZES)
  const after = page.after as CompletionId | undefined // a cursor is signed: it holds a position of this list
  const rows = await listCaptured(db, { accountId, filter, ...page, after, limit: page.limit + 1 })
  const parts = { position: ({ id }: CompletionRow) => id, render: (row: CompletionRow) => row }
  const { data, next_cursor: cursor } = renderPage(rows, { request: page, binding }, parts)
  const { format = 'jsonl' } = query
  const details = { format, filter: JSON.stringify(filter), completions: data.length }
  await audit(deps, request, { action: 'content.exported', subject: undefined, details })
  if (cursor !== null) reply.header('x-next-cursor', cursor)
  reply
    .type('application/jsonl; charset=utf-8')
    .header('content-disposition', 'attachment; filename="turnpike-content.jsonl"')
    .send(Readable.from(linesOf(deps, { accountId, rows: data, format })))
}

interface Lines {
  readonly accountId: AccountId
  readonly rows: readonly CompletionRow[]
  readonly format: 'jsonl' | 'messages'
}

async function* linesOf(deps: ContentDeps, { accountId, rows, format }: Lines): AsyncGenerator<string> {
  for (let at = 0; at < rows.length; at += READ_AT_ONCE) {
    const some = rows.slice(at, at + READ_AT_ONCE)
    const ids = some.map(({ id }) => id)
    const contents = await readContents(deps, accountId, ids)
    for (const row of some) {
      const content = contents.get(row.id)
      const line = content && (format === 'jsonl' ? wholeLine(deps, row, content) : trainingLine(deps, content))
      if (line !== undefined) yield `${JSON.stringify(line)}\n`
    }
  }
}

function renderContent(deps: ContentDeps, row: CompletionRow, content: Content) {
  const { api, request, messages, response } = readContent(deps, row, content)
  const { id, model } = row
  const created_at = isoTime(row.created_at)
  return { id, object: 'completion_content' as const, created_at, model, api, request, messages, response }
}

function wholeLine(deps: ContentDeps, row: CompletionRow, content: Content) {
  return {
    ...renderContent(deps, row, content),
    provider: row.provider,
    status: row.status satisfies CompletionStatus,
    key_id: row.key_id,
    tags: tagsOfText(row.tags),
    session_id: row.session_id,
  }
}

function readContent({ conversationOf }: ContentDeps, { api }: CompletionRow, content: Content) {
  const request = JSON.parse(content.request) as Json
  const response = content.response === undefined ? null : (JSON.parse(content.response) as Json)
  const messages = [...(conversationOf(content.endpoint, request)?.messages ?? [])] as Json[]
  return { api: api ?? ('chat_completions' as const), request, messages, response }
}

/** Undefined: there is no answer to learn from. */
function trainingLine({ conversationOf }: ContentDeps, { endpoint, request, response }: Content) {
  const conversation = conversationOf(endpoint, JSON.parse(request))
  const answer = response === undefined ? undefined : (JSON.parse(response) as { readonly choices: readonly Json[] })
  const message = answer?.choices[0]?.['message']
  if (conversation === undefined || !isRecord(message)) return undefined
  const { messages, tools } = conversation
  const { refusal, ...last } = message
  const said = refusal === null ? last : message
  return { messages: [...messages, said], ...(tools !== undefined && { tools }) }
}

/** What the operator allows. */
export interface CaptureLimits {
  readonly allow: boolean
  readonly retention_days: number
  readonly max_bytes: number
}

export interface CaptureSettingsDeps extends FeatureDeps {
  readonly writeAudit: WriteAudit
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => void | Promise<void>
  readonly limits: CaptureLimits
}

/** Keys and teams whose requests alone are captured. */
const MAX_REFERENCES = 1_000

const References = (what: string) =>
  Type.Unsafe<readonly string[] | null>({
    anyOf: [
      {
        type: 'array',
        items: { type: 'string', maxLength: 100, pattern: '^[^\\u0000]*$' },
        minItems: 1,
        maxItems: MAX_REFERENCES,
      },
      { type: 'null' },
    ],
    description: `IDs: only requests ${what}. Null for both: of the whole account.`,
  })
const Keys = References('of these API keys and of the keys that they created, or of `teams`')
const Teams = References('of these teams, or of `keys`')
const Days = Type.Integer({ minimum: 1, maximum: 3_650, description: 'Days that prompts and answers are kept.' })

const SettingsBody = closed({
  enabled: Type.Boolean({ description: 'Whether prompts and answers are stored from now on.' }),
  keys: Type.Optional(Keys),
  teams: Type.Optional(Teams),
  retention_days: Type.Optional(Days),
})
const SettingsView = Type.Object({
  object: Type.Literal('content_capture'),
  allowed: Type.Boolean({ description: 'Whether the operator allows it.' }),
  enabled: Type.Boolean(),
  keys: Keys,
  teams: Teams,
  retention_days: Days,
  max_bytes: Type.Integer({ description: 'Largest prompt and answer together; larger ones are not stored.' }),
})

const path = '/content-capture'
const settingsTags = ['Content capture']
const settingsSchema = { summary: 'Get content capture', tags: settingsTags, response: { 200: SettingsView } }
const writeSchema = {
  summary: 'Set content capture',
  description:
    'Replaces the settings; takes effect within a second, in every process. Off by default. What is stored already stays until its retention, or until it is deleted. Returns 409 where the operator does not allow it.',
  tags: settingsTags,
  body: SettingsBody,
  response: { 200: SettingsView },
}

export function captureSettingsRoutes(deps: CaptureSettingsDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, limits, changed, writeAudit } = deps
  return async (app) => {
    app.get(path, { config, schema: settingsSchema }, async (request) => {
      return render(limits, await readSettings(db, callerOf(request).accountId))
    })
    app.put(path, { config, schema: writeSchema }, async (request) => {
      const { caller, audited } = requesterOf(request, callerOf(request))
      const { accountId } = caller
      const settings = parseSettings(limits, request.body)
      await assertKnown(db, accountId, settings)
      await db.transaction().execute(async (inside) => {
        await writeSettings(deps, inside, { accountId, settings })
        const { enabled, keys = null, teams = null, retentionDays: retention_days = null } = settings
        const details = { enabled, keys, teams, retention_days }
        await writeAudit(inside, {
          ...audited,
          action: 'content_capture.changed',
          subject: undefined,
          result: 'done',
          details,
        })
      })
      await changed()
      return render(limits, settings)
    })
  }
}

function parseSettings(limits: CaptureLimits, body: Static<typeof SettingsBody>): CaptureSettings {
  const { enabled, keys, teams, retention_days: retentionDays } = body
  if (enabled && !limits.allow) {
    const message = 'The operator does not allow content capture: `content_capture.allow` is false.'
    throw new GatewayError('conflict', message, { param: 'enabled' })
  }
  if (retentionDays !== undefined && retentionDays > limits.retention_days) {
    const message = `'retention_days' is ${retentionDays}; the operator allows at most ${limits.retention_days}.`
    throw new GatewayError('out_of_range', message, { param: 'retention_days' })
  }
  return { enabled, ...(keys && { keys }), ...(teams && { teams }), ...(retentionDays && { retentionDays }) }
}

async function readSettings(db: Kysely<Database>, accountId: AccountId): Promise<CaptureSettings> {
  const row = await db
    .selectFrom('account')
    .select('content_capture')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow()
  return captureSettings(row.content_capture)
}

async function writeSettings(
  { now }: Pick<CaptureSettingsDeps, 'now'>,
  inside: Kysely<Database>,
  { accountId, settings }: { readonly accountId: AccountId; readonly settings: CaptureSettings },
): Promise<void> {
  await inside
    .updateTable('account')
    .set({ content_capture: JSON.stringify(settings), changed_at: nextChangedAt('account', now()) })
    .where('id', '=', accountId)
    .execute()
}

function render(limits: CaptureLimits, { enabled, keys, teams, retentionDays }: CaptureSettings) {
  return {
    object: 'content_capture' as const,
    allowed: limits.allow,
    enabled,
    keys: keys ?? null,
    teams: teams ?? null,
    retention_days: Math.min(retentionDays ?? limits.retention_days, limits.retention_days),
    max_bytes: limits.max_bytes,
  } satisfies Static<typeof SettingsView>
}
