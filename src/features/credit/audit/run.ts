/**
 * Audits the ledger: recomputes what accounts were charged from tokens and tariffs, and everything that is kept of it from
 * the rows below. It knows nothing of how the gateway charges: what it multiplies and adds is in this folder.
 *
 * It reads pages by key while the service runs, without a transaction or a lock. An account is held against one snapshot,
 * and what is written while it is read is read again in one statement before it is a finding. Progress is kept every two
 * seconds: an audit that is killed goes on where it was.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Database } from '../../../db/schema.ts'
import type { AccountId } from '../../../domain/ids.ts'
import { type AccountAudit, type AccountDeps, accountStepper, beginAccount } from './account.ts'
import { createPriceBook } from './charges.ts'
import type { Finding } from './finding.ts'
import type { Seal } from './seals.ts'
import { MAX_KEPT_OF_A_KIND, type StoredAudit, saveAudit } from './store.ts'

const SAVE_EVERY_MS = 2_000

export interface RunInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  /** Amounts that plans grant, or have granted; undefined: not known. */
  readonly allowances: ReadonlySet<bigint> | undefined
  /** Ends it after the step at hand; what was done is kept. */
  readonly signal?: AbortSignal | undefined
  /** The same when so many milliseconds are over. */
  readonly budgetMs?: number | undefined
  /** Of the time, what it works at most: in a process that serves, chats come first. 1 unless said. */
  readonly share?: number | undefined
  readonly onProgress?: ((audit: StoredAudit) => void) | undefined
}

/** Continues an audit to its end, or until it is told to stop. @returns Whether it has ended. */
export async function runAudit(input: RunInput, audit: StoredAudit): Promise<boolean> {
  const { db, now, signal, budgetMs, share = 1 } = input
  const work = beginWork(input, audit)
  const started = performance.now()
  let savedAt = started
  const isOver = () => signal?.aborted === true || (budgetMs !== undefined && performance.now() - started >= budgetMs)
  const save = async (isEnd: boolean) => {
    await saveAudit(db, audit, { ...work.take(), now: now(), isEnd })
    savedAt = performance.now()
    input.onProgress?.(audit)
  }
  for (;;) {
    const stepAt = performance.now()
    if (!(await work.step())) {
      await save(true)
      return true
    }
    if (isOver()) {
      await save(false)
      return false
    }
    if (performance.now() - savedAt >= SAVE_EVERY_MS) await save(false)
    const restMs = (performance.now() - stepAt) * (1 / share - 1)
    await (restMs < 1 ? setImmediate() : setTimeout(restMs))
  }
}

interface Work {
  /** False: nothing is left. */
  step(): Promise<boolean>
  /** What was found and sealed since it was taken last. */
  take(): { findings: readonly Finding[]; seals: Map<string, { accountId: AccountId; seal: Seal }> }
}

function beginWork(input: RunInput, audit: StoredAudit): Work {
  const { db, now, allowances } = input
  const { progress, scope } = audit
  let findings: Finding[] = []
  let seals = new Map<string, { accountId: AccountId; seal: Seal }>()
  const kept = new Map<string, number>()
  const deps: AccountDeps = {
    db,
    prices: createPriceBook(),
    allowances,
    report(finding) {
      progress.counts[finding.kind] = (progress.counts[finding.kind] ?? 0) + 1
      const name = `${finding.accountId} ${finding.kind}`
      const count = (kept.get(name) ?? 0) + 1
      kept.set(name, count)
      if (count <= MAX_KEPT_OF_A_KIND) findings.push(finding)
    },
    seal: (accountId, seal) => void seals.set(`${accountId} ${seal.page}`, { accountId, seal }),
  }
  let step = progress.account && accountStepper(deps, progress.account)
  const begin = async (accountId: AccountId): Promise<AccountAudit> => {
    const account = await beginAccount(deps, { accountId, since: scope.since, now: now() })
    progress.account = account
    step = accountStepper(deps, account)
    return account
  }
  return {
    async step() {
      const account = progress.account ?? (await nextAccount(db, audit).then((id) => id && begin(id)))
      if (account === undefined || step === undefined) return false
      const before = account.rows
      await step()
      progress.rows += account.rows - before
      if (account.phase === 'done') {
        progress.after = account.accountId
        progress.account = undefined
        progress.accounts++
      }
      return true
    },
    take() {
      const taken = { findings, seals }
      findings = []
      seals = new Map()
      return taken
    },
  }
}

async function nextAccount(db: Kysely<Database>, { scope, progress }: StoredAudit): Promise<AccountId | undefined> {
  if (scope.accountId !== undefined) return progress.accounts === 0 ? scope.accountId : undefined
  const row = await db
    .selectFrom('account')
    .select('id')
    .where('id', '>', progress.after as AccountId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}
