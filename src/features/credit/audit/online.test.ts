/** Audits of a ledger that is being written, and audits whose process is killed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { currentLocation } from '../../../../test/support/database.ts'
import { auditedLedger, seedMonths } from '../../../../test/support/ledger/audited-ledger.ts'
import { completionIdAt } from '../../../../test/support/ledger/completions.ts'
import type { CompletionRecord } from '../../../domain/completion.ts'
import type { CompletionId, KeyId } from '../../../domain/ids.ts'
import type { Account } from '../../accounts/queries.ts'
import { runAudit } from './run.ts'
import { createAudit, findAudit, listFindings, type StoredAudit } from './store.ts'

const VICTIM = join(import.meta.dirname, '..', '..', '..', '..', 'test', 'support', 'process', 'audit-victim.ts')

type Ledger = Awaited<ReturnType<typeof auditedLedger>>

const GUESSED = { status: 'incomplete', usageSource: 'estimated', promptTokens: 100, completionTokens: 2 } as const

/** Traffic: charges, holds that stay, estimates of which each is followed by its exact settlement some writes later. */
function trafficOn(ledger: Ledger, payer: Account) {
  const guessed: CompletionId[] = []
  const budgeted = { keyId: 'key_b' as KeyId }
  let writes = 0
  return {
    corrected: () => Math.max(0, writes - 3),
    async write(): Promise<void> {
      writes += 1
      ledger.clock.now += 1_000
      const id = completionIdAt(ledger.clock.now)
      guessed.push(id)
      const late = guessed[writes - 4]
      const exact: Partial<CompletionRecord>[] =
        late === undefined ? [] : [{ ...budgeted, id: late, completionTokens: 90 }]
      await ledger.use(payer, budgeted, { ...budgeted, ...GUESSED, id }, ...exact)
      await ledger.reserve(payer, 10)
    },
  }
}

test('INV-10: charges, holds and late settlements between the steps of an audit are no findings', async (t) => {
  const ledger = await auditedLedger(t)
  const payer = await seedMonths(ledger)
  const { write, corrected } = trafficOn(ledger, payer)
  for (let time = 0; time < 4; time++) await write()
  let current = await createAudit(ledger.db, { accountId: undefined, since: undefined }, ledger.clock.now)
  const { id } = current
  for (let steps = 1; ; steps++) {
    const ended = await runAudit({ db: ledger.db, now: ledger.now, allowances: undefined, budgetMs: 0 }, current)
    assert.deepEqual(await listFindings(ledger.db, id, 10), [], `after step ${steps}`)
    if (ended) break
    await write()
    current = (await findAudit(ledger.db, id)) as StoredAudit
  }
  assert.ok(corrected() > 5, `${corrected()} late settlements`)
  const notes = await ledger.db.selectFrom('ledger').select('number').where('note', '=', 'late settlement').execute()
  assert.equal(notes.length, corrected())
  assert.deepEqual((await ledger.audit()).findings, [], 'nor afterwards')
})

test('INV-10: audits beside a writer on a connection of its own find nothing', async (t) => {
  const place = await currentLocation(t)
  const ledger = await auditedLedger(t, place)
  const writer = await auditedLedger(t, place)
  const payer = await seedMonths(ledger)
  writer.clock.now = ledger.clock.now
  const { write, corrected } = trafficOn(writer, payer)
  let isOver = false
  const traffic = (async () => {
    while (!isOver) await write()
  })()
  try {
    for (let time = 0; time < 5; time++) assert.deepEqual((await ledger.audit()).findings, [])
  } finally {
    isOver = true
    await traffic
  }
  assert.ok(corrected() > 0)
})

test('an audit whose process is killed goes on at the row where it was', async (t) => {
  const place = await currentLocation(t)
  const ledger = await auditedLedger(t, place)
  const payer = await seedMonths(ledger)
  for (let account = 0; account < 30; account++) await ledger.use(await ledger.account('pro'), {}, {}, {})
  await ledger.break(`update credit set spent_nano_usd = 1 where account_id <> '${payer.id}'`)
  const whole = await ledger.audit()
  const { id } = await createAudit(ledger.db, { accountId: undefined, since: undefined }, ledger.clock.now)
  const victim = spawn(process.execPath, [VICTIM, place, id], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(victim.stdout, 'data')) as [Buffer]
  const exited = once(victim, 'exit')
  victim.kill('SIGKILL')
  await exited
  const kept = await findAudit(ledger.db, id)
  assert.ok(kept !== undefined && kept.endedAt === undefined, 'it was not done')
  const rows = kept.progress.rows
  assert.equal(rows, Number(String(said).split('\n')[0]))
  assert.ok(rows > 0 && rows < whole.stored.progress.rows, `${rows} of ${whole.stored.progress.rows} rows`)
  assert.equal(await runAudit({ db: ledger.db, now: ledger.now, allowances: undefined }, kept), true)
  assert.equal(kept.progress.rows, whole.stored.progress.rows, 'each row was read once')
  assert.deepEqual(kept.progress.counts, whole.stored.progress.counts)
  assert.deepEqual(await listFindings(ledger.db, id, 100), whole.findings)
})
