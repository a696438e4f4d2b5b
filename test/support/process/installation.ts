/** An installation on SQLite whose service has ended, with something in every table. */
import { DatabaseSync } from 'node:sqlite'
import { migrate } from '../../../src/db/migrate.ts'
import { openDatabase } from '../../../src/db/open.ts'
import type { AccountId, KeyId } from '../../../src/domain/ids.ts'
import { LEDGER_PROGRAMS } from '../../../src/features/credit/ledger/sqlite/store.ts'
import { completionRecord, recordCompletions } from '../ledger/completions.ts'

const CHUNK = 2_000
const HOUR_MS = 3_600_000

/** Completions of three accounts over a month, charged by the ledger itself. */
export async function makeInstallation(path: string, completions: number): Promise<void> {
  const database = await openDatabase({ path, programs: LEDGER_PROGRAMS })
  await migrate(database.db, Date.now)
  for (let made = 0; made < completions; made += CHUNK) {
    const count = Math.min(CHUNK, completions - made)
    await recordCompletions(
      database,
      Array.from({ length: count }, (_, index) => recordOf(made + index)),
    )
  }
  await database.close()
  addTheRest(path)
}

const CUT = { provider: 'p', outcome: 'cut', status: 200, startedMs: 1, durationMs: 2 } as const

function recordOf(index: number) {
  return completionRecord({
    accountId: ['acc_a', 'acc_b', 'acc_c'][index % 3] as AccountId,
    keyId: `key_${index % 5}` as KeyId,
    model: index % 7 === 0 ? 'ünïcode "model" \\ 模型 😀' : 'm1',
    costNanoUsd: BigInt(index % 11) * 1_234_567n,
    promptTokens: index % 1_000,
    status: index % 50 === 0 ? 'client_left' : 'completed',
    firstByteMs: index % 2 === 0 ? undefined : 12.5,
    clientRequestId: index % 3 === 0 ? undefined : `request ${index}`,
    attemptLog: index % 5 === 0 ? [{ ...CUT, model: `ünïcode "${index}" \\ 模型 😀` }] : undefined,
    createdAt: Date.UTC(2026, 4, 1) + (index % 700) * HOUR_MS,
  })
}

const BIGGEST = 9_007_199_254_740_993n // more than a float can hold

function addTheRest(path: string): void {
  const database = new DatabaseSync(path)
  const insert = (table: string, row: Readonly<Record<string, string | number | bigint | null | Uint8Array>>) => {
    const places = Object.keys(row).map(() => '?')
    const statement = `insert into ${table} (${Object.keys(row).join(', ')}) values (${places.join(', ')})`
    database.prepare(statement).run(...Object.values(row))
  }
  database.exec('begin')
  insert('setting', { key: 'first_account', value: 'acc_a' })
  for (let index = 0; index < 40; index++) {
    const id = `key_${index}`
    const hash = Buffer.alloc(32, index * 6 + 1)
    const [created_at, changed_at] = [index, 10_000 - index]
    insert('api_key', {
      ...{ account_id: 'acc_a', id, name: `Schlüssel ${index}`, prefix: 'tp_', last4: 'abcd', scopes: '["chat"]' },
      ...{ ip_allowlist: '[]', monthly_budget_nano_usd: BIGGEST, requests_per_minute: null, models: '[]' },
      ...{ created_at, last_used_at: null, expires_at: null, revoked_at: null, changed_at },
    })
    insert('credential', { hash, account_id: 'acc_a', kind: 'key', id })
    insert('sign_in_link', { hash, account_id: 'acc_b', created_at, expires_at: 1_000, used_at: null })
  }
  insert('price_version', {
    ...{ id: 'v1', model: 'm1', input_micro_usd: 1, output_micro_usd: 2, cached_input_micro_usd: null },
    ...{ cache_write_micro_usd: null, first_seen_at: 1 },
  })
  insert('key_spending', {
    account_id: 'acc_a',
    key_id: 'key_1',
    month: 676,
    spent_nano_usd: BIGGEST,
    held_nano_usd: 0,
  })
  insert('invoice', {
    ...{ account_id: 'acc_a', number: 1, id: 'inv_1', period_start: 0, period_end: 1, total_nano_usd: -BIGGEST },
    ...{ document: '{"text":"\\u0000 and ü"}', closed_at: 2 },
  })
  insert('usage_alert', {
    ...{ account_id: 'acc_a', month: 676, event: 'usage.alert', basis: 'budget', threshold: 50 },
    ...{ spent_nano_usd: 1, limit_nano_usd: 2, created_at: 3, told: 0 },
  })
  for (const key of ['a', 'b', 'ü']) {
    insert('idempotency', {
      ...{ account_id: 'acc_c', endpoint: 'POST /v1/chat/completions', key, fingerprint: Buffer.alloc(32, 7) },
      ...{ state: 'kept', subject_id: 'chatcmpl-1', instance_id: 'ins_1', lease_until: 5, status: 200 },
      ...{ headers: '{}', body: `"${'😀\\n'.repeat(key === 'a' ? 1_000_000 : 1)}"`, created_at: 4, ended_at: 5 },
    })
  }
  const webhook = { account_id: 'acc_a', url: 'https://a.example/', events: null, description: '', created_at: 1 }
  insert('webhook', {
    ...webhook,
    id: 'whk_1',
    secret: Buffer.alloc(60, 1),
    previous_secret: null,
    previous_until: null,
  })
  insert('webhook', {
    ...webhook,
    id: 'whk_2',
    secret: Buffer.alloc(60, 2),
    previous_secret: Buffer.alloc(60, 3),
    previous_until: 9,
  })
  insert('instance', { id: 'ins_1', version: '1', role: 'all', address: null, started_at: 1, seen_at: 2 })
  insert('job', {
    ...{ id: 'job_1', kind: 'k', name: 'n', payload: '{}', run_at: 1, attempt: 0, owner: null, lease_until: null },
    ...{ last_error: null, created_at: 1, ended_at: null, outcome: null },
  })
  database.exec('commit')
  database.close()
}
