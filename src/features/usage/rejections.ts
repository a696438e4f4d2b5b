/**
 * Rejected requests to models, for whoever asks why. The handler of errors notes them in memory, and they are written in
 * batches; `/usage/rejections` lists them. The record is of help, not of money: what exceeds the limits, or cannot be
 * written, is counted and forgotten.
 */

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Insertable, Kysely, Selectable } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import { findFirstAccount, given, pageBy } from '../../db/shared-queries.ts'
import type { AccountId, KeyId, TeamId } from '../../domain/ids.ts'
import type { Rejection } from '../../domain/rejection.ts'
import { listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../http/page.ts'
import { isoTime, textOrNull } from '../../http/wire-fields.ts'
import { createLruCache } from '../../lib/collections.ts'
import { traceField } from '../../telemetry/log.ts'
import type { ListDeps } from '../deps.ts'
import { type Names, namesOfKeys } from './names.ts'

/** Rejections that wait to be written, of all accounts. */
export const MAX_WAITING = 2_000
/** Recorded rejections a second, of each account, and of all requests without a valid credential. */
export const MAX_PER_SECOND = 10
/** Rejections kept, of each account. */
export const MAX_KEPT = 10_000
/** Rejections of an account that are written between two deletions of those beyond `MAX_KEPT`. */
export const TRIM_EVERY = 100

const WRITE_AFTER_MS = 1_000
const ROWS_PER_STATEMENT = 500
const MAX_REMEMBERED_ACCOUNTS = 10_000

type NewRow = Insertable<Database['rejection']>
/** Without an account: of nobody, which is only known where it is written. */
type WaitingRow = Omit<NewRow, 'account_id'> & { readonly account_id: AccountId | undefined }

interface RecorderInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  /** Whether a model has this ID. Other text is stored only where it cannot be a secret in the wrong field. */
  readonly isModel: (id: string) => boolean
  readonly log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
  }
}

export interface RejectionRecorder {
  note(rejection: Rejection): void
  /** Writes what waits. Never rejects: what the database does not take is dropped. */
  write(): Promise<void>
  /** Writes the rest; what is noted later is forgotten. */
  close(): Promise<void>
}

export function createRejectionRecorder({ db, now, isModel, log }: RecorderInput): RejectionRecorder {
  const isWithinRate = createRate(now)
  const waiting: WaitingRow[] = []
  const untrimmed = createLruCache<number>(MAX_REMEMBERED_ACCOUNTS)
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()
  let closed = false

  async function writeWaiting(): Promise<void> {
    if (dropped > 0) log.warn({ dropped }, 'rejected requests were not recorded')
    dropped = 0
    while (waiting.length > 0) {
      const rows = waiting.splice(0, ROWS_PER_STATEMENT)
      try {
        const owned = await withOwner(db, rows)
        if (owned.length > 0) await db.insertInto('rejection').values(owned).execute()
        for (const part of partsToTrim(owned, untrimmed)) await trim(db, part)
      } catch (error) {
        log.warn({ err: error, dropped: rows.length }, 'rejected requests were not recorded')
      }
    }
  }
  const write = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(writeWaiting)
    return writing
  }
  return {
    note(rejection) {
      if (closed) return
      const { caller, requestId, traceId, endpoint, status, code } = rejection
      timer ??= setTimeout(() => void write(), WRITE_AFTER_MS).unref()
      if (!isWithinRate(caller?.accountId) || waiting.length >= MAX_WAITING) {
        dropped += 1
        return
      }
      const { accountId, keyId } = caller ?? {}
      const fields = { requestId, ...traceField(traceId), accountId, keyId, endpoint, status, code }
      log.info(fields, 'request to a model rejected')
      const { model } = rejection
      const isStored = model !== undefined && (isModel(model) || isHarmlessName(model))
      waiting.push({ ...rowOf(rejection, now()), model: isStored ? model : null })
    },
    write,
    close() {
      closed = true
      return write()
    },
  }
}

const NAME = /^[a-z][\w./:-]{0,99}$/i
/** How keys of hosts, tokens and this gateway's keys begin. */
const CREDENTIAL =
  /^(?:sk|pk|rk|tp|hf|r8|gsk|ghp|gho|ghs|glpat|xox[a-z]|nvapi|pplx|csk|fw|key|AIza|AKIA|ASIA|eyJ|Bearer|Basic)[-_A-Z0-9]/
/** No word of a model's name is so long and has digits, or so long at all. */
const RANDOM = /[a-z0-9]{25}|(?=[a-z]*\d)(?<![a-z0-9])[a-z0-9]{16}/i

/** Nor does one change so often between letters and digits (`8x22b` does it three times), or between cases. */
const MIXED = /(?:[a-z]+\d+){2}[a-z]|(?:\d+[a-z]+){2}\d/i
const MIXED_CASES = /(?:[a-z]+[A-Z]+){3}/

/** Whether a text is the name of a model that does not exist, such as a misspelt one, and neither a credential nor random. */
function isHarmlessName(text: string): boolean {
  return NAME.test(text) && ![CREDENTIAL, RANDOM, MIXED, MIXED_CASES].some((secret) => secret.test(text))
}

function rowOf({ caller, requestId, endpoint, status, code }: Rejection, createdAt: number): WaitingRow {
  return {
    account_id: caller?.accountId,
    request_id: requestId,
    created_at: createdAt,
    key_id: caller?.keyId ?? null,
    endpoint,
    status,
    code,
  }
}

/** Requests without a valid credential belong to nobody: the account that operates the installation sees them. */
async function withOwner(db: Kysely<Database>, rows: readonly WaitingRow[]): Promise<readonly NewRow[]> {
  const isOfNobody = rows.some(({ account_id: accountId }) => accountId === undefined)
  const first = isOfNobody ? await findFirstAccount(db) : undefined
  return rows.flatMap(({ account_id: accountId = first, ...row }) =>
    accountId === undefined ? [] : [{ ...row, account_id: accountId }],
  )
}

/** Counts by account within the current second. */
function createRate(now: () => number): (accountId: AccountId | undefined) => boolean {
  const counts = new Map<AccountId | undefined, number>()
  let second = 0
  return (accountId) => {
    const current = Math.floor(now() / 1_000)
    if (current !== second) counts.clear()
    second = current
    const count = (counts.get(accountId) ?? 0) + 1
    counts.set(accountId, count)
    return count <= MAX_PER_SECOND
  }
}

/** The rows of an account: those of its callers, or those of nobody, which do not displace one another. */
interface Part {
  readonly accountId: AccountId
  readonly isOfNobody: boolean
}

function partsToTrim(rows: readonly NewRow[], untrimmed: ReturnType<typeof createLruCache<number>>): readonly Part[] {
  const due: Part[] = []
  for (const { account_id: accountId, key_id: keyId } of rows) {
    const part = { accountId, isOfNobody: keyId === null }
    const name = `${accountId} ${part.isOfNobody}`
    const count = (untrimmed.get(name) ?? 0) + 1
    untrimmed.set(name, count % TRIM_EVERY)
    if (count === TRIM_EVERY) due.push(part)
  }
  return due
}

/** Deletes the oldest rows beyond `MAX_KEPT`. */
async function trim(db: Kysely<Database>, { accountId, isOfNobody }: Part): Promise<void> {
  const key = isOfNobody ? ('is' as const) : ('is not' as const)
  await db
    .deleteFrom('rejection')
    .where('account_id', '=', accountId)
    .where('key_id', key, null)
    .where('request_id', '<=', ({ selectFrom }) =>
      selectFrom('rejection')
        .select('request_id')
        .where('account_id', '=', accountId)
        .where('key_id', key, null)
        .orderBy('request_id', 'desc')
        .limit(1)
        .offset(MAX_KEPT),
    )
    .execute()
}

type Row = Selectable<Database['rejection']>

const RejectionView = Type.Object({
  object: Type.Literal('rejection'),
  request_id: Type.String({ description: '`x-request-id` of the answer.' }),
  created_at: Type.String({ format: 'date-time' }),
  endpoint: Type.String({ description: 'The path, such as `/v1/chat/completions`.' }),
  model: textOrNull(
    'That the request asked for, also if there is none. `null`: the text may be a secret in the wrong field, or the body was not read.',
  ),
  status: Type.Integer({ description: 'HTTP status of the answer.' }),
  code: Type.String({ description: '`error.code` of the answer; docs/errors.md has them all.' }),
  key_id: textOrNull('The API key, device or person that sent it. `null`: the request had no valid credential.'),
  key_name: textOrNull('What it is called now. `null`: it is gone, or there was none.'),
})

const ListQuery = Type.Object({
  status: Type.Optional(
    Type.String({ pattern: '^4[0-9]{2}$', description: 'Only this HTTP status.', examples: ['429'] }),
  ),
  code: Type.Optional(Type.String({ description: 'Only this `code`.' })),
  key_id: Type.Optional(Type.String({ description: 'Only requests of this API key, device or signed-in person.' })),
  request_id: Type.Optional(Type.String({ description: 'Only the request with this ID.' })),
  ...PAGE_QUERY,
})

const schema = {
  summary: 'List rejected requests',
  description:
    'Returns requests to models that the gateway rejected before it called a provider, of the last 7 days: at most 10 a second ' +
    'and 10 000 in all. Those without a valid credential belong to no account: the account that operates the ' +
    'installation lists them. Filters are combined with AND.',
  tags: ['Usage'],
  querystring: ListQuery,
  response: { 200: pageSchema(RejectionView) },
}

type RejectionDeps = Pick<ListDeps, 'db' | 'callerOf' | 'cursorKey'>

export function rejectionRoutes({ db, callerOf, cursorKey }: RejectionDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/usage/rejections', { config: { scope: 'usage:read' }, schema }, async (request) => {
      const { accountId, teamId } = callerOf(request)
      const filter = readFilter(request.query)
      const read = async (page: PageRequest) => {
        const rows = await db
          .selectFrom('rejection')
          .selectAll()
          .where('account_id', '=', accountId)
          .where(({ and }) => and(filter))
          .$if(teamId !== undefined, (query) => query.where('key_id', 'in', keysOf(db, accountId, teamId as TeamId)))
          .$call(pageBy('request_id', page))
          .execute()
        const ids = rows.flatMap(({ key_id: id }) => id ?? [])
        const names = await namesOfKeys(db, accountId, ids)
        return rows.map((row) => render(row, names))
      }
      const binding = { key: cursorKey, account: accountId, list: 'usage/rejections', filter: JSON.stringify(filter) }
      const position = ({ request_id: id }: Static<typeof RejectionView>) => id
      return await listPage({ query: request.query, binding, read, position, render: (view) => view })
    })
  }
}

function keysOf(db: Kysely<Database>, accountId: AccountId, teamId: TeamId) {
  return db
    .selectFrom('api_key')
    .select('id')
    .where(({ and }) => and({ account_id: accountId, team_id: teamId }))
}

function readFilter({ status, code, key_id, request_id }: Static<typeof ListQuery>) {
  return given({
    status: status === undefined ? undefined : Number(status),
    code,
    key_id: key_id as KeyId | undefined,
    request_id,
  })
}

function render(row: Row, names: Names): Static<typeof RejectionView> {
  const { request_id, endpoint, model, status, code, key_id } = row
  return {
    object: 'rejection',
    request_id,
    created_at: isoTime(row.created_at),
    endpoint,
    model,
    status,
    code,
    key_id,
    key_name: key_id === null ? null : (names.get(key_id) ?? null),
  }
}
