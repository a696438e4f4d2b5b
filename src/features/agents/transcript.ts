/**
 * The transcript of an agent: messages of users, the model and its tools, and the events of its work, numbered from 1;
 * and its rendering in pages.
 */
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import { Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import { pageBy } from '../../db/shared-queries.ts'
import type { AgentEventKind, AgentStatus } from '../../domain/agent.ts'
import { GatewayError } from '../../domain/errors.ts'
import { agentMessageId, type RunId } from '../../domain/ids.ts'
import type { Page, PageRequest } from '../../http/page.ts'
import { oneOf, textOrNull } from '../../http/wire-fields.ts'
import { isoTime } from '../../lib/time.ts'
import { renderStoredMessage, type StoredMessage, type TranscriptPage } from '../../runner/loop/transcript-page.ts'
import { runTask } from '../../runner/loop/work-thread.ts'
import type { AgentMessage } from '../../runner/ports.ts'
import { type AgentReference, type Creator, type RunReference, readCreator } from './store.ts'

export type MessageRow = Selectable<Database['agent_message']>

/** `covers`: the summary replaces all messages up to this number. */
export type NewMessage =
  | { readonly kind: 'user' | 'assistant' | 'tool'; readonly message: AgentMessage }
  | { readonly kind: 'summary'; readonly message: AgentMessage; readonly covers: number }

interface NewMessages {
  readonly messages: readonly NewMessage[]
  /** Undefined: the model or its tools. */
  readonly author?: Creator | undefined
}

export interface NumberedMessage {
  readonly number: number
  readonly kind: MessageRow['kind']
  readonly message: AgentMessage
}

export const MessageView = Type.Object({
  id: Type.String(),
  object: Type.Literal('agent.message'),
  number: Type.Integer({ description: 'Number within the agent, from 1.' }),
  run_id: Type.String({ description: 'The run that was current when the message was written.' }),
  kind: oneOf(['user', 'assistant', 'tool', 'summary'] satisfies MessageRow['kind'][], {
    description: 'summary: replaces older messages in the model’s context.',
  }),
  content: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  tool_calls: Type.Unsafe<readonly object[] | null>({
    type: ['array', 'null'],
    items: { type: 'object', additionalProperties: true },
    description: 'As in chat completions.',
  }),
  author: Type.Unsafe<Author | null>({
    type: ['object', 'null'],
    properties: { type: { type: 'string', enum: ['key', 'device', 'member'] }, id: { type: 'string' } },
    required: ['type', 'id'],
    description: 'Author. Null: the model or a tool, or the message is older than this field.',
  }),
  tool_call_id: textOrNull('For a tool message: the tool call that it answers.'),
  created_at: Type.String({ description: 'ISO 8601 UTC.' }),
})

/** What a page shows of a message, but for the message itself, which is rendered with the page. */
export function toStoredMessage(row: MessageRow): StoredMessage {
  return {
    id: agentMessageId(row.agent_id, row.number, row.created_at),
    number: row.number,
    run_id: row.run_id,
    kind: row.kind,
    content: row.content,
    author: row.author === null ? null : renderAuthor(row.author),
    created_at: isoTime(row.created_at),
  }
}

type Author = NonNullable<StoredMessage['author']>

function renderAuthor(text: string): Author {
  const { kind, keyId } = readCreator({ creator: text })
  return { type: kind === 'key' ? 'key' : kind === 'token' ? 'device' : 'member', id: keyId }
}

/** The numbers must have been taken from the agent's row in the same transaction. */
export async function insertMessages(
  inside: Transaction<Database>,
  { accountId, agentId }: AgentReference,
  { messages, author, runId, first, now }: Numbering & NewMessages,
): Promise<void> {
  if (messages.length === 0) return
  const by = author === undefined ? {} : { author: JSON.stringify(author) }
  const place = { account_id: accountId, agent_id: agentId, run_id: runId, created_at: now, ...by }
  const rows = messages.map((one, at) => {
    const covers = one.kind === 'summary' ? { covers: one.covers } : {}
    return { ...place, number: first + at, kind: one.kind, content: JSON.stringify({ ...one.message, ...covers }) }
  })
  await inside.insertInto('agent_message').values(rows).execute()
}

export async function listMessages(
  db: Kysely<Database>,
  reference: AgentReference,
  page: PageRequest,
): Promise<readonly MessageRow[]> {
  return messagesOf(db, reference).$call(pageBy('number', page)).execute()
}

/** The conversation that a run begins with: the last summary, if there is one, and the messages that it does not cover. */
export async function loadConversation(
  db: Kysely<Database>,
  reference: AgentReference,
): Promise<readonly NumberedMessage[]> {
  const newest = messagesOf(db, reference).where('kind', '=', 'summary').orderBy('number', 'desc').limit(1)
  const summary = await newest.executeTakeFirst()
  const covered = summary === undefined ? 0 : readMessage(summary).covers
  const rows = await messagesOf(db, reference)
    .where('number', '>', covered)
    .where('kind', '<>', 'summary')
    .orderBy('number')
    .execute()
  return [...(summary === undefined ? [] : [summary]), ...rows].map(numbered)
}

/** The users' newer messages, the oldest first. @param after The number of the last known one. */
export async function unseenUserMessages(
  db: Kysely<Database>,
  reference: AgentReference,
  after: number,
): Promise<readonly NumberedMessage[]> {
  const query = messagesOf(db, reference).where('number', '>', after).where('kind', '=', 'user').orderBy('number')
  return (await query.execute()).map(numbered)
}

/**
 * The number of the last message that a new summary covers: all that the worker knows, except the last `kept` answers of
 * the model and what came with and after them.
 * @param last The number of the last message that the worker knows.
 */
export async function coveredBySummary(
  db: Kysely<Database>,
  reference: AgentReference,
  { kept, last }: { readonly kept: number; readonly last: number },
): Promise<number> {
  if (kept <= 0) return last
  const rows = await messagesOf(db, reference)
    .where('number', '<=', last)
    .where('kind', '=', 'assistant')
    .orderBy('number', 'desc')
    .limit(kept)
    .execute()
  return (rows.at(-1)?.number ?? last + 1) - 1
}

/** Whether the newest `count` messages are all of users, so not answered yet. */
export async function areUnanswered(db: Kysely<Database>, reference: AgentReference, count: number): Promise<boolean> {
  const newest = await messagesOf(db, reference).orderBy('number', 'desc').limit(count).execute()
  return newest.length === count && newest.every(({ kind }) => kind === 'user')
}

/**
 * The newest message that arrived during a run and that the run has not read.
 * @param seen The number of the last message that it has read; undefined: unknown, then that of the last answer counts.
 */
export async function missedMessage(
  db: Kysely<Database>,
  { runId, ...reference }: RunReference,
  seen: number | undefined,
): Promise<MessageRow | undefined> {
  const ofRun = messagesOf(db, reference).where('run_id', '=', runId)
  const known =
    seen ?? (await ofRun.where('kind', '<>', 'user').orderBy('number', 'desc').limit(1).executeTakeFirst())?.number
  const first = await ofRun.orderBy('number').limit(1).executeTakeFirst()
  const after = Math.max(known ?? 0, first?.number ?? 0)
  const missed = ofRun.where('kind', '=', 'user').where('number', '>', after)
  return missed.orderBy('number', 'desc').limit(1).executeTakeFirst()
}

function messagesOf(db: Kysely<Database>, { accountId, agentId }: AgentReference) {
  return db.selectFrom('agent_message').selectAll().where('account_id', '=', accountId).where('agent_id', '=', agentId)
}

function numbered(row: MessageRow): NumberedMessage {
  return { number: row.number, kind: row.kind, message: readMessage(row).message }
}

function readMessage({ content, number }: MessageRow): { readonly message: AgentMessage; readonly covers: number } {
  const { covers = number - 1, ...message } = JSON.parse(content) as AgentMessage & { covers?: number } // ours
  return { message, covers }
}

export interface NewAgentEvent {
  readonly type: AgentEventKind
  /** Plain JSON; `AGENT_EVENT_TYPES` lists the fields of each type. */
  readonly data: object
}

type AgentEvent = Omit<Selectable<Database['agent_event']>, 'account_id' | 'agent_id'>

interface Numbering {
  readonly runId: RunId
  /** The number of the first row. */
  readonly first: number
  /** Unix milliseconds. */
  readonly now: number
}

/** The numbers must have been taken from the agent's row in the same transaction. */
export async function insertEvents(
  inside: Transaction<Database>,
  { accountId, agentId }: AgentReference,
  { events, runId, first, now }: Numbering & { readonly events: readonly NewAgentEvent[] },
): Promise<void> {
  if (events.length === 0) return
  const place = { account_id: accountId, agent_id: agentId, run_id: runId, created_at: now }
  const rows = events.map(({ type, data }, at) => ({
    ...place,
    sequence: first + at,
    type,
    data: JSON.stringify(data),
  }))
  await inside.insertInto('agent_event').values(rows).execute()
}

/** The oldest first. */
export async function readEvents(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly AgentEvent[]> {
  return db
    .selectFrom('agent_event')
    .select(['sequence', 'run_id', 'type', 'data', 'created_at'])
    .where(({ and }) => and({ account_id: accountId, agent_id: agentId }))
    .where('sequence', '>', after)
    .orderBy('sequence')
    .limit(limit)
    .execute()
}

/** Status and number of events of an agent; undefined when it does not exist. */
export async function readProgress(
  db: Kysely<Database>,
  { accountId, agentId }: AgentReference,
): Promise<{ readonly status: AgentStatus; readonly events: number } | undefined> {
  return db
    .selectFrom('agent')
    .select(['status', 'events'])
    .where(({ and }) => and({ account_id: accountId, id: agentId }))
    .executeTakeFirst()
}

/** The `data` of the event stream. */
export function renderEvent({ sequence, type, run_id, created_at, data }: AgentEvent): string {
  const head = JSON.stringify({ sequence, type, run_id, created_at: isoTime(created_at) })
  return `${head.slice(0, -1)},"data":${data}}` // `data` is JSON already, of up to a megabyte
}

/** The number of the first message and of the first event of a transaction. */
export interface Written {
  readonly message: number
  readonly event: number
}

/** Takes the next numbers from the agent's row, which the transaction has read. */
export async function takeNumbers(
  inside: Transaction<Database>,
  { accountId, agentId }: AgentReference,
  count: { readonly messages: number; readonly events: number },
): Promise<Written> {
  const taken = await inside
    .updateTable('agent')
    .set({ messages: sql`messages + ${count.messages}`, events: sql`events + ${count.events}` })
    .where(({ and }) => and({ account_id: accountId, id: agentId }))
    .returning(['messages', 'events'])
    .executeTakeFirstOrThrow()
  return { message: taken.messages - count.messages + 1, event: taken.events - count.events + 1 }
}

/* Renders pages of messages: small ones at once, those of megabytes on the agents' worker thread. */

/** Characters of stored messages that take less than a few milliseconds to render. */
const SMALL_PAGE = 256 * 1024
/** Larger pages that are rendered, or wait for it, at once. */
const MAX_LARGE_PAGES = 8
/** A compaction before it takes at most 10 s. */
const WAIT_MS = 30_000
const RETRY_AFTER_MS = 1_000

let largePages = 0

type MessagePage = Page<ReturnType<typeof renderStoredMessage>>

/** @returns The page, or its JSON in UTF-8. Rejects with 503 where too many large ones are under way, or it took too long. */
export async function renderMessages(page: TranscriptPage): Promise<MessagePage | Buffer> {
  if (sizeOf(page.data) <= SMALL_PAGE) return { ...page, data: page.data.map(renderStoredMessage) }
  if (largePages >= MAX_LARGE_PAGES) throw overloaded()
  largePages += 1
  const signal = AbortSignal.timeout(WAIT_MS)
  try {
    const { buffer, byteOffset, byteLength } = await runTask(signal, 'renderTranscriptPage', page)
    return Buffer.from(buffer, byteOffset, byteLength)
  } catch (error) {
    throw signal.aborted ? overloaded(error) : error
  } finally {
    largePages -= 1
  }
}

function sizeOf(messages: readonly StoredMessage[]): number {
  return messages.reduce((sum, { content }) => sum + content.length, 0)
}

function overloaded(cause?: unknown): GatewayError {
  const message = 'Too many large pages of messages are being rendered; try again, or ask for fewer messages.'
  return new GatewayError('overloaded', message, { retryAfterMs: RETRY_AFTER_MS, cause })
}
