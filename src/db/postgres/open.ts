/** Opens a database on PostgreSQL. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely } from 'kysely'
import { DatabaseError } from '../failure.ts'
import type { OpenedDatabase, PostgresOptions } from '../open.ts'
import type { Database } from '../schema.ts'
import { postgresDialect } from './dialect.ts'
import { listenForChanges, type PostgresListener } from './listener.ts'
import { createPostgresPool, type PostgresPool } from './pool.ts'
import { assertServer } from './settings.ts'
import { createPostgres, runBatch } from './transactions.ts'

/** Connections of a process: for reports and everything else, and those that none of it can use up. */
const GENERAL_CONNECTIONS = 10
const LEDGER_CONNECTIONS = 4
const START_WITHIN_MS = 8_000
const START_RETRY_MS = 250
/** SQLSTATEs of a server that starts or ends, or is full. */
const NOT_YET = /^(?:57P|53)/

/** Rejects when the server cannot be reached within about 10 s, or is not fit for it. */
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
    run: () => Promise.reject(new Error('Programs are carried out by the threads of SQLite alone.')),
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
      if (!mayPass(error) || performance.now() > until) throw error
    }
    await sleep(START_RETRY_MS)
  }
}

/** Not: a wrong password, an unknown database, an unfit server. */
function mayPass(error: unknown): boolean {
  const cause = causeOf(error)
  if (cause instanceof DatabaseError) return NOT_YET.test(cause.sqlState ?? '')
  return cause !== error
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? error.cause : error
}

/** The listening connection is made when there is somebody to tell. */
function createChanges(url: string, onHang: (error: Error) => void) {
  const listeners = new Set<() => void>()
  let ear: PostgresListener | undefined
  const notify = () => {
    for (const listener of listeners) listener()
  }
  return {
    notify,
    onChange(listener: () => void): () => void {
      listeners.add(listener)
      ear ??= listenForChanges({ url, onChanged: notify, onHang })
      return () => void listeners.delete(listener)
    },
    async close() {
      listeners.clear()
      await ear?.close()
    },
  }
}

function openFailure(url: string, error: unknown): Error {
  const cause = causeOf(error)
  const reason = cause instanceof Error ? reasonOf(cause) : String(cause)
  return new Error(`The database of DATABASE_URL, ${withoutPassword(url)}, cannot be used: ${reason}`, { cause: error })
}

/** A name with several addresses fails once for each, all in one error without words. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each) => String(each?.message ?? each)).join('; ')
  return error.message
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'which is no URL'
  const { protocol, host, pathname, username } = new URL(url)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}
