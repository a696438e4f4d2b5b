/**
 * Exports the traces of accounts to the destinations that they chose: each has a bounded queue of its own, and a sender that
 * connects to allowed addresses only.
 */
import type { Attributes } from '@opentelemetry/api'
import type { Kysely } from 'kysely'
import type { Agent } from 'undici'
import type { Database } from '../../db/schema/schema.ts'
import type { Sealer } from '../../db/sealed.ts'
import type { ChatMessage } from '../../domain/chat.ts'
import type { AccountId } from '../../domain/ids.ts'
import type { RequestTrace } from '../../domain/trace.ts'
import { checkTarget } from '../../net/guarded-agent.ts'
import type { ExportCounts } from '../../telemetry/metrics.ts'
import type { SendResult } from '../../telemetry/otlp/sender.ts'
import type { TraceExport } from '../../telemetry/otlp/tracer.ts'
import { type DestinationRow, enabledDestinations, extrasOf, headersOf, openSecrets, renewSeal } from './store.ts'

/** Changes of other processes take effect by then. */
const REFRESH_MS = 5_000
/** Spans that wait for one destination. */
const MAX_QUEUE = 1_024
const BATCH_SPANS = 512
/** With prompts and answers: a body has at most a few MiB. */
const CONTENT_BATCH_SPANS = 16
/** Characters of a prompt and its answer; of longer ones, a span says that they are left out. */
export const MAX_CONTENT_CHARACTERS = 128 * 1024
/** Of spans that wait, for all destinations that receive prompts and answers. */
export const MAX_WAITING_CONTENT_BYTES = 32 * 1024 * 1024
const DELAY_MS = 2_000
const TIMEOUT_MS = 10_000
const FLUSH_MS = 2_000

export interface ExporterInput {
  readonly db: Kysely<Database>
  readonly sealer: Sealer
  readonly version: string
  readonly agent: Agent
  readonly allowPrivateNetworks: boolean
  readonly log: { warn(fields: object, message: string): void }
  /** The prompt of a body, whatever the API; undefined: it can no longer be read. @param endpoint `METHOD /path`. */
  readonly conversationOf: (
    endpoint: string,
    body: unknown,
  ) => { readonly messages: readonly ChatMessage[] } | undefined
  /** Called when there are destinations for the first time, and when there are none any more. */
  readonly onNeeded: (isNeeded: boolean) => void | Promise<void>
}

export interface DestinationExporter {
  /** Adds a trace to the queues of its account's destinations. */
  add(trace: RequestTrace): void
  /** Reads the destinations again. */
  refresh(): Promise<void>
  /** Sends one span of a test. */
  test(row: DestinationRow): Promise<SendResult>
  counts(): ExportCounts
  close(): Promise<void>
}

interface OpenDestination {
  readonly row: DestinationRow
  readonly queue: TraceExport
  /** Undefined: it gets neither prompts nor answers. */
  readonly contents: Contents | undefined
}

interface ExporterState {
  readonly input: ExporterInput
  open: ReadonlyMap<AccountId, readonly OpenDestination[]>
  /** Of destinations that are gone. */
  readonly past: { exported: number; dropped: number }
  readonly room: ContentRoom
  reading: Promise<void> | undefined
}

export function createDestinationExporter(input: ExporterInput): DestinationExporter {
  const past = { exported: 0, dropped: 0 }
  const room = { left: MAX_WAITING_CONTENT_BYTES }
  const state: ExporterState = { input, open: new Map(), past, room, reading: undefined }
  const failed = (error: unknown): void => input.log.warn({ err: error }, 'telemetry destinations could not be read')
  const timer = setInterval(() => void refresh(state).catch(failed), REFRESH_MS).unref()
  return {
    refresh: () => refresh(state),
    add(trace) {
      const { record } = trace
      if (record === undefined) return
      for (const destination of state.open.get(record.accountId) ?? []) {
        const { team_id: teamId } = destination.row
        if (teamId === null || teamId === record.teamId) destination.queue.add(trace)
      }
    },
    test: (row) => sendTest(state, row),
    counts: () => countsOf(state),
    async close() {
      clearInterval(timer)
      await state.reading?.catch(() => {})
      const ending = openOnes(state)
      state.open = new Map()
      await Promise.all(ending.map((each) => endQueue(state, each)))
    },
  }
}

function openOnes({ open }: ExporterState): OpenDestination[] {
  return [...open.values()].flat()
}

async function endQueue({ past }: ExporterState, { queue, contents }: OpenDestination): Promise<void> {
  await queue.close(FLUSH_MS)
  contents?.close()
  past.exported += queue.counts.exported
  past.dropped += queue.counts.dropped
}

function countsOf(state: ExporterState): ExportCounts {
  const { exported, dropped } = state.past
  const counts = { signal: 'destinations', exported, dropped, waiting: 0 }
  for (const { queue } of openOnes(state)) {
    counts.exported += queue.counts.exported
    counts.dropped += queue.counts.dropped
    counts.waiting += queue.waiting
  }
  return counts
}

async function refresh(state: ExporterState): Promise<void> {
  await state.reading // what was being read may be older than the change
  state.reading ??= readAgain(state).finally(() => {
    state.reading = undefined
  })
  await state.reading
}

/** Queues of unchanged destinations go on. */
async function readAgain(state: ExporterState): Promise<void> {
  const { db, sealer, onNeeded } = state.input
  const rows = await enabledDestinations(db)
  for (const row of rows) await renewSeal(db, sealer, row)
  const former = new Map(openOnes(state).map((each) => [each.row.id, each]))
  const next = new Map<AccountId, OpenDestination[]>()
  for (const row of rows) {
    const same = former.get(row.id)
    const isKept = same?.row.changed_at === row.changed_at
    const opened = isKept ? same : await openQueue(state, row)
    if (isKept) former.delete(row.id)
    if (opened !== undefined) next.set(row.account_id, [...(next.get(row.account_id) ?? []), opened])
  }
  state.open = next
  for (const gone of former.values()) void endQueue(state, gone)
  await onNeeded(next.size > 0)
}

/** Undefined: its secrets cannot be read. */
async function openQueue(
  { input, room }: Pick<ExporterState, 'input' | 'room'>,
  row: DestinationRow,
): Promise<OpenDestination | undefined> {
  const { sealer, log, version, agent, allowPrivateNetworks } = input
  const secrets = openSecrets(sealer, row)
  if (secrets === undefined) {
    log.warn({ destination: row.id }, 'the credential of a telemetry destination cannot be read')
    return undefined
  }
  const [{ createDestinationExport }, { contentAttributes }] = await Promise.all([
    import('../../telemetry/otlp/tracer.ts'),
    import('../../telemetry/otlp/spans.ts'),
  ])
  const contents = row.content === 1 ? createContents(room) : undefined
  const contentOf = ({ content }: RequestTrace): Attributes => {
    if (contents === undefined || content === undefined) return {}
    const { endpoint, body, bodyBytes = 0, renderAnswer } = content
    if (!contents.hasRoom(bodyBytes)) return CONTENT_OMITTED
    const { messages } = input.conversationOf(endpoint, body) ?? { messages: [] }
    const attributes = contentAttributes(messages, renderAnswer())
    const length = Object.values(attributes).reduce((sum: number, text) => sum + String(text).length, 0)
    return contents.hasRoom(length) ? attributes : CONTENT_OMITTED
  }
  const queue = createDestinationExport({
    endpoint: {
      url: row.url,
      headers: headersOf(row.kind, secrets),
      protocol: 'http/protobuf',
      gzip: true,
      timeoutMs: TIMEOUT_MS,
    },
    batch: { maxQueue: MAX_QUEUE, maxBatch: contents ? CONTENT_BATCH_SPANS : BATCH_SPANS, delayMs: DELAY_MS },
    version,
    extras: extrasOf(row.kind),
    contentOf,
    ...(contents && { onWaiting: contents.hold }),
    dispatcher: agent,
    check: () => void checkTarget(row.url, { allowPrivateNetworks }),
  })
  return { row, queue, contents }
}

/** Bytes that spans with prompts and answers may still take, of all destinations. */
interface ContentRoom {
  left: number
}

const CONTENT_OMITTED: Attributes = { 'turnpike.content_omitted': true }

/** The spans with prompts and answers that wait for a destination. */
interface Contents {
  /** Whether so much content may be added. */
  hasRoom(size: number): boolean
  /** @param bytes That begin to wait; negative: that are sent. */
  hold(bytes: number): void
  close(): void
}

function createContents(room: ContentRoom): Contents {
  let held = 0
  const hold = (bytes: number): void => {
    held += bytes
    room.left -= bytes
  }
  return {
    hasRoom: (size) => size <= Math.min(MAX_CONTENT_CHARACTERS, room.left),
    hold,
    close: () => hold(-held),
  }
}

async function sendTest(state: ExporterState, row: DestinationRow): Promise<SendResult> {
  const opened = await openQueue(state, row)
  if (opened === undefined) return { ok: false, reason: 'the credential cannot be read' }
  const { queue } = opened
  queue.add(testTrace(row))
  await queue.close(TIMEOUT_MS)
  const { exported, lastFailure = 'timeout' } = queue.counts
  return exported > 0 ? { ok: true } : { ok: false, reason: lastFailure }
}

function testTrace({ id }: DestinationRow): RequestTrace {
  const traceId = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('hex')
  const none = {
    parentSpanId: undefined,
    steps: [],
    attempts: [],
    request: undefined,
    record: undefined,
    content: undefined,
  }
  return {
    ...none,
    context: { traceId, spanId: traceId.slice(16), sampled: true, state: undefined, baggage: undefined },
    startedAt: 0,
    startedAtUnixMs: Date.now(),
    newSpanId: () => traceId.slice(0, 16),
    propagate: false,
    route: `TEST ${id}`,
    status: 200,
    endedAt: 1,
    errorCode: undefined,
    open: 0,
    onEnd: () => {},
  }
}

export type DestinationTester = Pick<DestinationExporter, 'refresh' | 'test'>
