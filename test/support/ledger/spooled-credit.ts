/** Credit as a process has it: a ledger on a real SQLite file, the group commit, a spool in a real folder, the port. */

import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { OpenedDatabase } from '../../../src/db/database.ts'
import type { CompletionRecord } from '../../../src/domain/completion.ts'
import type { Hold, HoldRequest } from '../../../src/domain/credit.ts'
import type { Caller } from '../../../src/domain/identity/caller.ts'
import type { AccountId, InstanceId } from '../../../src/domain/ids.ts'
import { createCommitter } from '../../../src/features/credit/commit/committer.ts'
import { createLedgerStore } from '../../../src/features/credit/ledger/store.ts'
import type { LedgerStore, PlanTerms, Unit } from '../../../src/features/credit/ledger/unit.ts'
import { createCreditPort } from '../../../src/features/credit/port.ts'
import { openSpool, type SpoolOptions } from '../../../src/features/credit/spool/spool.ts'
import { keyCaller } from '../identity/caller.ts'
import { testIds } from '../ids.ts'
import { dataRoot } from '../process/data-root.ts'
import { currentFile, temporarySqlite } from '../sqlite-file.ts'
import { completionIdAt, completionRecord, ensureAccounts } from './completions.ts'

export const PREPAID: PlanTerms = { billing: 'prepaid', monthlyCreditNanoUsd: 0n }
export const ACCOUNT = 'acc_a' as AccountId

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: object
  readonly message: string
}

export function recordingLog() {
  const lines: LogLine[] = []
  const at = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, fields, message })
  return { lines, info: at('info'), warn: at('warn'), error: at('error') }
}

export interface SpooledOptions {
  readonly dataDirectory: string
  readonly instanceId?: InstanceId
  readonly exposureNanoUsd?: bigint
  readonly store?: (store: LedgerStore) => LedgerStore
  readonly spool?: Partial<SpoolOptions>
  readonly ensureLease?: () => Promise<boolean> | boolean
}

/** One process' worth. */
export function openSpooledCredit(database: OpenedDatabase, options: SpooledOptions) {
  const { dataDirectory, instanceId = testIds.instance(), exposureNanoUsd = 0n, store = (real) => real } = options
  const log = recordingLog()
  const clock = () => performance.now()
  // The machine of a test may be busier than any hold may wait.
  const times = { clock, requestTimeoutMs: 600_000, closeTimeoutMs: 1 }
  const committer = createCommitter({ store: store(createLedgerStore(database)), log, ...times })
  const spool = openSpool({ dataDirectory, instanceId, log, clock, ...options.spool })
  const terms = () => PREPAID
  const lease = options.ensureLease === undefined ? {} : { ensureLease: options.ensureLease }
  const exposure = () => exposureNanoUsd
  const port = createCreditPort({ committer, spool, terms, instanceId, exposureNanoUsd: exposure, log, ...lease })
  return { instanceId, log, committer, spool, port }
}

interface SpooledCreditOptions extends Partial<SpooledOptions> {
  readonly creditNanoUsd?: bigint
  /** Of a database that has the account; without it there is a new one. */
  readonly path?: string
}

/** A folder with a database that has an account with so much credit, and a process of it. */
export async function spooledCredit(
  t: TestContext,
  { creditNanoUsd = 1_000_000n, path: existing, ...options }: SpooledCreditOptions = {},
) {
  const path = existing ?? (await currentFile(t))
  const database = await temporarySqlite(t, path)
  const dataDirectory = options.dataDirectory ?? (await mkdtemp(join(dataRoot, 'turnpike-spool-')))
  if (existing === undefined) await openAccount(database, creditNanoUsd)
  const credit = openSpooledCredit(database, { ...options, dataDirectory })
  t.after(async () => {
    await credit.committer.close().catch(() => undefined) // what is left belongs to the test
    await credit.spool.close()
    await rm(dataDirectory, { recursive: true, force: true })
  })
  return { path, database, db: database.db, dataDirectory, ...credit }
}

/** Gives the account so much credit. */
export async function openAccount(database: OpenedDatabase, creditNanoUsd: bigint): Promise<void> {
  await ensureAccounts(database, [ACCOUNT])
  await createLedgerStore(database).commit({ units: [purchase(creditNanoUsd)] })
}

export function purchase(nanoUsd: bigint): Unit {
  const entry = { kind: 'purchase', nanoUsd, note: undefined, adjusts: undefined } as const
  return { kind: 'entry', accountId: ACCOUNT, terms: PREPAID, entry }
}

/** Costs 1 nano-dollar a token, in and out: 10 for the prompt and 90 for the answer at worst. */
export function holdAsk(over: Partial<HoldRequest> = {}): HoldRequest {
  const createdAt = Date.now()
  return {
    id: completionIdAt(createdAt),
    caller: callerOf(ACCOUNT),
    model: 'm1',
    provider: 'p',
    rates: { inputMicroUsd: 1_000, outputMicroUsd: 1_000, fixedNanoUsd: 0 },
    priceVersion: 'v1',
    stream: false,
    promptTokens: 10,
    outputTokens: 90,
    choices: 1,
    flexible: false,
    createdAt,
    clientRequestId: undefined,
    ...over,
  }
}

/** What a request of `holdAsk` came to. */
export function recordFor({ id, accountId, keyId }: Hold, over: Partial<CompletionRecord> = {}): CompletionRecord {
  return completionRecord({ id, accountId, keyId, promptTokens: 10, completionTokens: 50, costNanoUsd: 60n, ...over })
}

export function callerOf(accountId: AccountId): Caller {
  return keyCaller({ accountId, plan: 'pro' })
}

/** What the account has, what of it is held, and what completions were charged, by what the database says. */
export async function ledgerSnapshot({ db }: OpenedDatabase) {
  const credit = await db.selectFrom('credit').selectAll().where('account_id', '=', ACCOUNT).executeTakeFirst()
  const completions = await db.selectFrom('completion').selectAll().orderBy('id').execute()
  const holds = await db.selectFrom('hold').selectAll().orderBy('id').execute()
  return { balance: credit?.balance_nano_usd ?? 0n, held: credit?.held_nano_usd ?? 0n, completions, holds }
}
