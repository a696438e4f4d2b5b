/** Months of usage of an account: completions and their sums, written without the ledger, which would take hours. */
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { performanceDays, performanceHours } from '../src/db/migrations/0027-0044.ts'
import { type AccountId, completionIdFloor } from '../src/domain/ids.ts'

export const MODELS = ['json-50', 'gpt-5.4-mini', 'claude-sonnet-4-6', 'gemini-2.5-flash'] as const
export const KEYS = ['key_production', 'key_staging', 'key_batch', 'key_rare'] as const
export const DAYS = 90
/** Agents in sequence, each with a hundred of a million calls. */
export const AGENTS = 1_000

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const CHUNK = 50_000
const COLUMNS = [
  'account_id',
  'id',
  'key_id',
  'model',
  'provider',
  'status',
  'stream',
  'finish_reason',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'cost_nano_usd',
  'price_version',
  'usage_source',
  'created_at',
  'duration_ms',
  'first_byte_ms',
  'attempts',
  'client_request_id',
  'tags',
]
/** Columns of texts that an example may lack. */
const TEXTS = ['client_request_id', 'tags']

/** @param index From 0, the oldest, to `AGENTS` - 1. @param now The end of their days, Unix milliseconds. */
export function agentId(index: number, now: number): string {
  const bornAt = now - DAYS * DAY_MS + Math.floor((index / AGENTS) * DAYS * DAY_MS)
  return `agt_${completionIdFloor(bornAt).slice('chatcmpl-'.length)}${String(index).padStart(14, '0')}`
}

export interface Filling {
  /** The SQLite file of an idle gateway, or the URL of its PostgreSQL. */
  readonly location: string
  readonly accountId: AccountId
  readonly count: number
  /** End of the period, Unix milliseconds. */
  readonly now: number
  /** Of the period. */
  readonly days?: number
  /** Whether each completion has a customer of its own as a tag. */
  readonly hasTags?: boolean
}

export function fillUsage(filling: Filling): Promise<void> {
  return /^postgres/.test(filling.location) ? fillPostgres(filling) : Promise.resolve(fillSqlite(filling))
}

async function fillPostgres({ location, accountId, count, ...rows }: Filling): Promise<void> {
  const client = new Client({ connectionString: location })
  await client.connect()
  try {
    const example = rowOf(1, { count, ...rows })
    const values = COLUMNS.slice(1).map((name, at) =>
      typeof example[at] === 'string' || TEXTS.includes(name) ? `value ->> ${at}` : `cast(value ->> ${at} as bigint)`,
    )
    const insert = `insert into completion (${COLUMNS.join(', ')})
      select $1, ${values.join(', ')} from json_array_elements($2::json)`
    for (let made = 0; made < count; made += CHUNK) {
      const size = Math.min(CHUNK, count - made)
      const chunk = Array.from({ length: size }, (_, index) => rowOf(made + index, { count, ...rows }))
      const json = JSON.stringify(chunk)
      const startedAt = performance.now()
      await client.query(insert, [accountId, json])
      if (made % (count / 10) < CHUNK) reportRate(made, (1000 * size) / (performance.now() - startedAt))
    }
    for (const sums of SUMS) await client.query(addingUp(sums, '$1'), [accountId])
    for (const statement of PERFORMANCE) await client.query(statement)
    await client.query('vacuum analyze')
  } finally {
    await client.end()
  }
}

/** Ten times in a filling: the rate must not fall as the table grows. */
function reportRate(made: number, perSecond: number): void {
  console.log(`${String(made).padStart(12)} rows: ${Math.round(perSecond)} inserted a second`)
}

function fillSqlite({ location, accountId, count, ...rows }: Filling): void {
  const db = new DatabaseSync(location, { timeout: 30_000 })
  try {
    const insert = db.prepare(
      `insert into completion (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})`,
    )
    for (let made = 0; made < count; made += CHUNK) {
      db.exec('begin immediate')
      for (let index = made; index < Math.min(count, made + CHUNK); index++) {
        insert.run(accountId, ...rowOf(index, { count, ...rows }))
      }
      db.exec('commit')
    }
    for (const sums of SUMS) db.prepare(addingUp(sums, '?')).run(accountId)
    for (const statement of PERFORMANCE) db.exec(statement)
    db.exec('pragma wal_checkpoint(truncate)')
  } finally {
    db.close()
  }
}

/** One in twenty completions failed, one in ten is of an agent, and one key has one of 50 000 requests. */
function rowOf(
  index: number,
  { count, now, days = DAYS, hasTags = false }: Pick<Filling, 'count' | 'now' | 'days' | 'hasTags'>,
): readonly (string | number | null)[] {
  const createdAt = now - days * DAY_MS + Math.floor((index / count) * days * DAY_MS)
  const spread = (index * 2_654_435_761) % 4_294_967_296 // Knuth's multiplicative hash: the same every time
  const id = `${completionIdFloor(createdAt)}${String(index).padStart(14, '0')}`
  const key = index % 50_000 === 0 ? 'key_rare' : KEYS[spread % 3]
  const model = MODELS[(spread >>> 8) % MODELS.length] ?? MODELS[0]
  const status =
    spread % 20 === 0 ? (['failed', 'client_left', 'incomplete'][(spread >>> 4) % 3] ?? 'failed') : 'completed'
  const [promptTokens, completionTokens] = [200 + (spread % 6_000), 40 + (spread % 1_200)]
  const agent = agentId(Math.floor((index / count) * AGENTS), now)
  return [
    ...[id, key ?? 'key_rare', model, `provider-${(spread >>> 12) % 3}`, status, spread % 2, 'stop'],
    ...[promptTokens, completionTokens, spread % 200, 0, 0, 1_000 * (promptTokens + 4 * completionTokens)],
    ...['v1', 'provider', createdAt, 800 + (spread % 7_000), spread % 2 === 0 ? null : 150 + (spread % 900), 1],
    spread % 10 === 0 ? `${agent}/run_${agent.slice(4)}` : null,
    hasTags ? `customer=c${spread}` : null,
  ]
}

/** Recreates the counts of all accounts by hour and day, as the migrations that add the tables do. */
const PERFORMANCE = [
  'delete from performance_hour',
  ...performanceHours.slice(1),
  'delete from performance_day',
  ...performanceDays.slice(1),
]

interface Sums {
  readonly table: 'usage_rollup' | 'usage_hour'
  readonly column: 'day' | 'hour'
  readonly lengthMs: number
}

const SUMS: readonly Sums[] = [
  { table: 'usage_rollup', column: 'day', lengthMs: DAY_MS },
  { table: 'usage_hour', column: 'hour', lengthMs: HOUR_MS },
]

/** Returns the statement that writes the sums, as the ledger does. @param account Placeholder of the parameter. */
function addingUp({ table, column, lengthMs }: Sums, account: string): string {
  return `insert into ${table} (account_id, ${column}, key_id, model, requests, prompt_tokens, completion_tokens, cost_nano_usd)
    select account_id, created_at / ${lengthMs}, key_id, model,
      count(*), sum(prompt_tokens), sum(completion_tokens), sum(cost_nano_usd)
    from completion where account_id = ${account} group by account_id, 2, 3, 4`
}
