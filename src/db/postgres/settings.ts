/** What a PostgreSQL server must be for money to be kept in it (DUR-1). */
import type { PostgresClient } from './client.ts'
import { IDLE_IN_TRANSACTION_TIMEOUT_MS, LOCK_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from './pool.ts'

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

/** Throws an error that names the setting, what it is and what it must be. */
export async function assertServer(client: PostgresClient): Promise<void> {
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
