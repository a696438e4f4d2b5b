/**
 * `node bench/ledger-audit.ts [charges]`: measures an audit of the whole ledger on SQLite and on PostgreSQL, over charges
 * that the ledger's store has written (default: 1 000 000), each with a completion and a ledger entry.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OpenedDatabase } from '../src/db/database.ts'
import { migrate } from '../src/db/migrate.ts'
import { openDatabase } from '../src/db/open.ts'
import type { AccountId, KeyId } from '../src/domain/ids.ts'
import { chargeNanoUsd } from '../src/domain/price/price.ts'
import type { Price } from '../src/domain/price/tariff.ts'
import { runAudit } from '../src/features/credit/audit/run.ts'
import { countFindings, createAudit } from '../src/features/credit/audit/store.ts'
import { LEDGER_PROGRAMS } from '../src/features/credit/ledger/sqlite/store.ts'
import { createLedgerStore } from '../src/features/credit/ledger/store.ts'
import type { Unit } from '../src/features/credit/ledger/unit.ts'
import { createSchema } from '../test/support/http/schemas.ts'
import { completionRecord, ensureAccounts } from '../test/support/ledger/completions.ts'
import { startPostgres } from '../test/support/process/postgres-server.ts'

const CHARGES = Number(process.argv[2] ?? 1_000_000)
const BATCH = 2_000
const START = Date.UTC(2026, 7, 1)
const SPAN_MS = 60 * 86_400_000
const PRICE: Price = { inputMicroUsd: 1_250_000, outputMicroUsd: 10_000_000, cachedInputMicroUsd: 125_000 }
const TIERED: Price = {
  ...PRICE,
  tiers: [{ abovePromptTokens: 200_000, appliesTo: 'request', inputMicroUsd: 2_500_000, outputMicroUsd: 15_000_000 }],
}
/** Half of all charges are the first account's. */
const ACCOUNTS = ['acc_0', 'acc_0', 'acc_0', 'acc_0', 'acc_1', 'acc_2', 'acc_3', 'acc_4'] as AccountId[]

function unitAt(index: number): Unit {
  const createdAt = START + Math.floor((index / CHARGES) * SPAN_MS)
  const isTiered = index % 3 === 0
  const prompt = 500 + (index % 977)
  const [completion, cached] = [100 + (index % 313), index % 400]
  const record = completionRecord({
    accountId: ACCOUNTS[index % ACCOUNTS.length] as AccountId,
    keyId: `key_${index % 5}` as KeyId,
    model: isTiered ? 'tiered' : 'plain',
    priceVersion: isTiered ? 'pv_tiered' : 'pv_plain',
    promptTokens: prompt,
    completionTokens: completion,
    cachedTokens: cached,
    costNanoUsd: chargeNanoUsd({ prompt, completion, cached }, isTiered ? TIERED : PRICE),
    createdAt,
  })
  const terms = { billing: 'postpaid', monthlyCreditNanoUsd: 0n } as const
  return { kind: 'settle', record, terms, unrecorded: true, kept: undefined }
}

async function seed(database: OpenedDatabase): Promise<void> {
  await migrate(database.db, Date.now)
  await ensureAccounts(database, ACCOUNTS)
  const four = { cached_input_micro_usd: 125_000, cache_write_micro_usd: null, first_seen_at: 0 }
  const rates = { input_micro_usd: 1_250_000, output_micro_usd: 10_000_000, ...four }
  await database.db
    .insertInto('price_version')
    .values([
      { id: 'pv_plain', model: 'plain', ...rates, tariff: null },
      { id: 'pv_tiered', model: 'tiered', ...rates, tariff: JSON.stringify({ tiers: TIERED.tiers }) },
    ])
    .execute()
  const store = createLedgerStore(database)
  for (let from = 0; from < CHARGES; from += BATCH) {
    const units = Array.from({ length: Math.min(BATCH, CHARGES - from) }, (_, at) => unitAt(from + at))
    // IDs contain the start of a request: a batch is written after its last request has started.
    const now = START + Math.floor(((from + units.length) / CHARGES) * SPAN_MS)
    const outcomes = await store.commit({ units, now })
    const refused = outcomes.find(({ kind }) => kind !== 'done')
    if (refused !== undefined) throw new Error(`Not seeded: ${JSON.stringify(refused)}`)
  }
}

async function measure(name: string, database: OpenedDatabase): Promise<void> {
  const seeding = performance.now()
  await seed(database)
  console.log(`${name}: ${CHARGES} charges written in ${seconds(seeding)} s`)
  for (const round of ['first audit', 'second audit, with seals']) {
    const audit = await createAudit(database.db, { accountId: undefined, since: undefined }, Date.now())
    const [started, cpu] = [performance.now(), process.cpuUsage()]
    let longestMs = 0
    let at = performance.now()
    const watch = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - at - 10)
      at = performance.now()
    }, 10)
    await runAudit({ db: database.db, now: Date.now, allowances: undefined }, audit)
    clearInterval(watch)
    const took = (performance.now() - started) / 1000
    const { user, system } = process.cpuUsage(cpu)
    const rate = Math.round(CHARGES / took)
    console.log(
      `${name}, ${round}: ${countFindings(audit.progress)} findings, ${took.toFixed(1)} s, ${rate} charges a second ` +
        `(${((user + system) / 1e6).toFixed(1)} s of CPU here), event loop late by at most ${longestMs.toFixed(0)} ms; ` +
        `10 million: ${(10_000_000 / rate / 60).toFixed(1)} min`,
    )
  }
  await database.close()
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1)
}

const only = process.argv[3]
if (only !== 'postgres') {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-audit-'))
  await measure('SQLite', await openDatabase({ path: join(folder, 'turnpike.db'), programs: LEDGER_PROGRAMS }))
  rmSync(folder, { recursive: true })
}
if (only !== 'sqlite') {
  const server = await startPostgres()
  const schema = await createSchema(server.url)
  await measure('PostgreSQL', await openDatabase({ url: schema.url }))
  await server.stop()
}
process.exit(0)
