/** Opens a database on PostgreSQL, verifies the server's settings, and receives change notifications. */

import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely } from 'kysely'
import { Client } from 'pg'
import type { OpenedDatabase, PostgresOptions } from '../database.ts'
import { DatabaseError } from '../failure.ts'
import type { Database } from '../schema/schema.ts'
import type { PostgresClient } from './client.ts'
import {
  connectionConfig,
  createPostgres,
  createPostgresPool,
  IDLE_IN_TRANSACTION_TIMEOUT_MS,
  LOCK_TIMEOUT_MS,
  type PostgresPool,
  postgresDialect,
  runBatch,
  STATEMENT_TIMEOUT_MS,
} from './pool.ts'

/** Connections of a process: for reports and everything else, and those reserved for the ledger. */
const GENERAL_CONNECTIONS = 10
const LEDGER_CONNECTIONS = 4
const START_WITHIN_MS = 8_000
const START_RETRY_MS = 250
/** SQLSTATEs of a server that starts, shuts down, or is full. */
const TEMPORARY = /^(?:57P|53)/

/** Rejects when the server is unreachable for about 10 s, or its settings are unsafe. */
export async function openPostgres({ url, startWithinMs = START_WITHIN_MS }: PostgresOptions): Promise<OpenedDatabase> {
  const general = createPostgresPool({ url, max: GENERAL_CONNECTIONS })
  const ledger = createPostgresPool({ url, max: LEDGER_CONNECTIONS })
  try {
    await firstSession(general, startWithinMs)
  } catch (error) {
    await Promise.all([general.close(), ledger.close()])
    throw openFailure(url, error)
  }
  const changes = createChanges(url, (error) => {
    general.abandon(error)
    ledger.abandon(error)
  })
  return {
    dialect: 'postgres',
    db: new Kysely<Database>({ dialect: postgresDialect(general) }),
    postgres: createPostgres(ledger),
    run: () => Promise.reject(new Error('Programs run only on SQLite.')),
    batch: (statements) => runBatch(ledger, statements),
    onChange: changes.onChange,
    notifyChange: changes.notify,
    async ping() {
      await Promise.all([createPostgres(general).query('select 1'), createPostgres(ledger).query('select 1')])
    },
    async close() {
      await changes.close()
      await Promise.all([general.close(), ledger.close()])
    },
  }
}

async function firstSession(pool: PostgresPool, withinMs: number): Promise<void> {
  const until = performance.now() + withinMs
  for (;;) {
    try {
      const session = await pool.session()
      await assertServer(session).finally(session.end)
      return
    } catch (error) {
      if (!isTemporary(error) || performance.now() > until) throw error
    }
    await sleep(START_RETRY_MS)
  }
}

/** Not for a wrong password, an unknown database, or wrong settings. */
function isTemporary(error: unknown): boolean {
  const cause = causeOf(error)
  if (cause instanceof DatabaseError) return TEMPORARY.test(cause.sqlState ?? '')
  return cause !== error
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? error.cause : error
}

/** Opens the listening connection for the first listener. */
function createChanges(url: string, onHang: (error: Error) => void) {
  const listeners = new Set<() => void>()
  let connection: PostgresListener | undefined
  const notify = () => {
    for (const listener of listeners) listener()
  }
  return {
    notify,
    onChange(listener: () => void): () => void {
      listeners.add(listener)
      connection ??= listenForChanges({ url, onChanged: notify, onHang })
      return () => void listeners.delete(listener)
    },
    async close() {
      listeners.clear()
      await connection?.close()
    },
  }
}

function openFailure(url: string, error: unknown): Error {
  const cause = causeOf(error)
  const reason = cause instanceof Error ? reasonOf(cause) : String(cause)
  return new Error(`The database of DATABASE_URL, ${withoutPassword(url)}, cannot be used: ${reason}`, { cause: error })
}

/** A host with several addresses fails once for each, in one error without a message. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each) => String(each?.message ?? each)).join('; ')
  return error.message
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'which is no URL'
  const { protocol, host, pathname, username } = new URL(url)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}

/** The oldest major version. */
const OLDEST_VERSION = 14

interface Requirement {
  readonly name: string
  readonly accepts: (value: string) => boolean
  readonly wanted: string
}

const is = (name: string, ...values: readonly string[]): Requirement => ({
  name,
  accepts: (value) => values.includes(value),
  wanted: values.join(' or '),
})
const between = (name: string, max: number): Requirement => ({
  name,
  accepts: (value) => Number(value) > 0 && Number(value) <= max,
  wanted: `at most ${max}ms`,
})

const REQUIREMENTS: readonly Requirement[] = [
  is('fsync', 'on'),
  is('full_page_writes', 'on'),
  is('synchronous_commit', 'on', 'remote_apply'),
  is('server_encoding', 'UTF8'),
  is('transaction_read_only', 'off'),
  is('transaction_isolation', 'read committed'),
  between('statement_timeout', STATEMENT_TIMEOUT_MS),
  between('lock_timeout', LOCK_TIMEOUT_MS),
  between('idle_in_transaction_session_timeout', IDLE_IN_TRANSACTION_TIMEOUT_MS),
]

/** Throws unless the server is safe for money (DUR-1), with the setting, its value and the required one. */
async function assertServer(client: PostgresClient): Promise<void> {
  const { rows } = await client.query<{ name: string; setting: string }>('select name, setting from pg_settings')
  const settings = new Map(rows.map(({ name, setting }) => [name, setting]))
  const version = Math.floor(Number(settings.get('server_version_num')) / 10_000)
  if (!(version >= OLDEST_VERSION))
    throw new Error(`PostgreSQL ${settings.get('server_version')} is too old: it must be ${OLDEST_VERSION} or later.`)
  for (const { name, accepts, wanted } of REQUIREMENTS) {
    const value = settings.get(name) ?? 'not set'
    if (!accepts(value)) throw new Error(`PostgreSQL's setting ${name} is '${value}'; Turnpike needs ${wanted}.`)
  }
}

// Receives change notifications of other processes (`LISTEN`) on its own connection, and sends heartbeats on it: a server
// that hangs does not answer on the other connections either.

/** The channel of the triggers of the first migration. */
const CHANNEL = 'turnpike_changed'
const HEARTBEAT_MS = 1_000
/** In two parts: after a pause of this process, the replies that arrived meanwhile are read in between. */
const ANSWER_WITHIN_MS = 1_000
const GRACE_MS = 250
const RECONNECT_MS = 250

export interface PostgresListener {
  close(): Promise<void>
}

export interface ListenerInput {
  readonly url: string
  /** Called when something changed or may have: also after each connect, for missed notifications. */
  readonly onChanged: () => void
  /** The server did not answer in time. */
  readonly onHang: (error: Error) => void
}

interface ListenConnection extends ListenerInput {
  readonly sockets: Set<Socket>
  client: Client | undefined
  schema: string | undefined
  timer: NodeJS.Timeout | undefined
  isClosed: boolean
}

/** Connects and reconnects until it is closed. */
export function listenForChanges(input: ListenerInput): PostgresListener {
  const listening: ListenConnection = {
    ...input,
    sockets: new Set(),
    client: undefined,
    schema: undefined,
    timer: undefined,
    isClosed: false,
  }
  void connect(listening)
  return {
    async close() {
      listening.isClosed = true
      clearTimeout(listening.timer)
      listening.client?.end().catch(() => undefined)
      for (const socket of listening.sockets) socket.destroy()
    },
  }
}

async function connect(listening: ListenConnection): Promise<void> {
  const client = new Client(connectionConfig(listening.url, listening.sockets))
  listening.client = client
  client.on('error', () => reconnect(listening, client))
  client.on('end', () => reconnect(listening, client))
  client.on('notification', ({ payload }) => {
    if (payload === listening.schema) listening.onChanged()
  })
  try {
    await client.connect()
    await client.query(`listen ${CHANNEL}`)
    const { rows } = await client.query<{ schema: string }>('select current_schema() as schema')
    listening.schema = rows[0]?.schema
  } catch {
    return reconnect(listening, client)
  }
  if (listening.isClosed) return
  listening.onChanged()
  heartbeat(listening, client)
}

function reconnect(listening: ListenConnection, client: Client): void {
  if (listening.client !== client || listening.isClosed) return
  listening.client = undefined
  client.end().catch(() => undefined)
  for (const socket of listening.sockets) socket.destroy()
  clearTimeout(listening.timer)
  listening.timer = setTimeout(() => void connect(listening), RECONNECT_MS).unref()
}

function heartbeat(listening: ListenConnection, client: Client): void {
  if (listening.client !== client || listening.isClosed) return
  const giveUp = () => {
    const error = new Error(`PostgreSQL has not answered for ${ANSWER_WITHIN_MS + GRACE_MS} ms.`)
    listening.onHang(error)
    reconnect(listening, client)
  }
  listening.timer = setTimeout(() => {
    listening.timer = setTimeout(giveUp, GRACE_MS).unref()
  }, ANSWER_WITHIN_MS).unref()
  client.query('select 1').then(
    () => {
      if (listening.client !== client) return
      clearTimeout(listening.timer)
      listening.timer = setTimeout(() => heartbeat(listening, client), HEARTBEAT_MS).unref()
    },
    () => reconnect(listening, client),
  )
}
