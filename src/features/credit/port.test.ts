import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  ACCOUNT,
  callerOf,
  holdAsk,
  ledgerSnapshot,
  PREPAID,
  recordFor,
  type SpooledOptions,
  spooledCredit,
} from '../../../test/support/ledger/spooled-credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { InstanceId } from '../../domain/ids.ts'
import { type CrashPoint, onReach } from '../../lib/crash-point.ts'
import type { LedgerStore } from './ledger/unit.ts'
import { createCreditPort } from './port.ts'
import { spoolRoot } from './spool/directory.ts'
import type { Spool } from './spool/spool.ts'

/** A database that can be taken away and given back. */
function switchable() {
  const database = { away: false }
  const store = (real: LedgerStore): LedgerStore => ({
    commit: (batch) =>
      database.away ? Promise.reject(new GatewayError('database_unavailable', 'away')) : real.commit(batch),
  })
  return { database, store }
}

/** What the spool says now, as text. */
function spooled({ dataDirectory, instanceId }: { dataDirectory: string; instanceId: InstanceId }): string {
  const directory = join(spoolRoot(dataDirectory), instanceId)
  const logs = readdirSync(directory).filter((name) => name.endsWith('.log'))
  return logs.map((name) => readFileSync(join(directory, name), 'utf8')).join('')
}

async function outage(t: TestContext, options: Partial<SpooledOptions> = {}) {
  const { database: power, store } = switchable()
  const credit = await spooledCredit(t, { store, ...options })
  return { ...credit, power }
}

test('LED-3 LED-9: a hold is in the database before it is granted, and the charge is what the record says', async (t) => {
  const { database, port, spool, committer, dataDirectory, instanceId } = await spooledCredit(t)
  const ask = holdAsk()
  const held = await port.hold(ask)
  assert.equal(held.amountNanoUsd, 100n)
  assert.equal(held.outputTokens, 90)
  const before = await ledgerSnapshot(database)
  assert.equal(before.held, 100n)
  assert.deepEqual(
    before.holds.map(({ id, instance_id, model, provider }) => ({ id, instance_id, model, provider })),
    [{ id: ask.id, instance_id: instanceId, model: 'm1', provider: 'p' }],
  )
  port.dispatched(held)
  await port.settle(held, recordFor(held))
  const after = await ledgerSnapshot(database)
  assert.deepEqual([after.balance, after.held, after.holds.length], [1_000_000n - 60n, 0n, 0])
  assert.equal(spool.waiting(), 0)
  await committer.close()
  await spool.close()
  assert.equal(existsSync(join(spoolRoot(dataDirectory), instanceId)), false)
})

test('what is asked for reaches the database whole, whatever is optional', async (t) => {
  const { database, port } = await spooledCredit(t)
  const ask = holdAsk({ stream: true, choices: 3, clientRequestId: 'theirs' })
  await port.hold(ask)
  const { holds } = await ledgerSnapshot(database)
  const [row] = holds
  assert.equal(row?.amount_nano_usd, 280n)
  assert.deepEqual([row?.stream, row?.client_request_id, row?.price_version], [1, 'theirs', 'v1'])
  assert.deepEqual([row?.prompt_tokens, row?.completion_tokens, row?.estimate_nano_usd], [10, 0, 10n])
})

test('INV-13: a hold that does not fit says what was needed, what is left and what would help', async (t) => {
  const { port, database } = await spooledCredit(t, { creditNanoUsd: 50n })
  await assert.rejects(port.hold(holdAsk()), (error: GatewayError) => {
    assert.equal(error.code, 'insufficient_credit')
    assert.equal(error.status, 402)
    assert.match(error.message, /\$0\.0000001, and \$0\.00000005 of the account's credit is left\..*at most 40\b/)
    assert.deepEqual(error.details, { required_usd: 1e-7, available_usd: 5e-8, affordable_max_tokens: 40 })
    return true
  })
  assert.equal((await ledgerSnapshot(database)).held, 0n)
})

test("a key's budget is told with the time at which it resets", async (t) => {
  const { port } = await spooledCredit(t)
  const caller = { ...callerOf(ACCOUNT), monthlyBudgetNanoUsd: 5n }
  await assert.rejects(port.hold(holdAsk({ caller })), (error: GatewayError) => {
    assert.equal(error.code, 'key_budget_exceeded')
    assert.match(String(error.details?.['resets_at']), /^\d{4}-\d\d-01T00:00:00\.000Z$/)
    assert.equal(error.details?.['affordable_max_tokens'], 0)
    return true
  })
})

test('LED-4: a request without max_tokens is lowered to what is affordable', async (t) => {
  const { port } = await spooledCredit(t, { creditNanoUsd: 310n })
  const held = await port.hold(holdAsk({ outputTokens: 5_000, flexible: true }))
  assert.deepEqual([held.outputTokens, held.amountNanoUsd], [300, 310n])
})

test('a hold that is given back is whole again, also after it had left for a provider', async (t) => {
  const { database, port, committer, spool } = await spooledCredit(t)
  const first = await port.hold(holdAsk())
  port.release(first)
  const second = await port.hold(holdAsk())
  port.dispatched(second)
  port.release(second)
  await committer.flush()
  const { balance, held, completions } = await ledgerSnapshot(database)
  assert.deepEqual([balance, held, completions.length, spool.waiting()], [1_000_000n, 0n, 0, 0])
})

test('LED-5: a hold is raised as far as credit goes', async (t) => {
  const { database, port } = await spooledCredit(t, { creditNanoUsd: 150n })
  const held = await port.hold(holdAsk())
  assert.equal(await port.extend(held, 50n), true)
  assert.equal(held.amountNanoUsd, 150n)
  assert.equal(await port.extend(held, 1n), false)
  assert.equal(held.amountNanoUsd, 150n)
  assert.equal((await ledgerSnapshot(database)).held, 150n)
})

test('when settle returns, the settlement is in the spool; when it resolves, in the database', async (t) => {
  const credit = await outage(t)
  const { database, port, power, committer, spool } = credit
  const held = await port.hold(holdAsk())
  port.dispatched(held)
  power.away = true
  const kept = {
    accountId: ACCOUNT,
    endpoint: 'POST /v1/chat/completions',
    key: 'k',
    answer: { status: 200, headers: {}, body: '{"answer":"é"}' },
  }
  const settled = port.settle(held, recordFor(held), kept)
  assert.match(spooled(credit), new RegExp(`^[0-9a-f]{8} \\["D","${held.id}"\\]$`, 'm'))
  assert.match(spooled(credit), new RegExp(`^[0-9a-f]{8} \\["S",.*"id":"${held.id}".*"costNanoUsd":"60".*é`, 'm'))
  assert.equal(spool.waiting(), 1)
  power.away = false
  await settled
  await committer.flush()
  assert.equal((await ledgerSnapshot(database)).balance, 1_000_000n - 60n)
  assert.equal(spool.waiting(), 0)
})

test('F12 LED-10: while the database is away nothing is admitted, and what runs is charged when it is back', async (t) => {
  const { database, port, power, log } = await outage(t)
  const running = await Promise.all([1, 2, 3].map(() => port.hold(holdAsk())))
  power.away = true
  await assert.rejects(port.hold(holdAsk()), { code: 'database_unavailable' })
  const [raised] = running
  assert.ok(raised)
  assert.equal(await port.extend(raised, 1n), false)
  const settlements = running.map((held) => port.settle(held, recordFor(held)))
  await assert.rejects(port.hold(holdAsk()), { code: 'database_unavailable' })
  power.away = false
  await Promise.all(settlements)
  const { balance, held, completions } = await ledgerSnapshot(database)
  assert.deepEqual([balance, held, completions.length], [1_000_000n - 180n, 0n, 3])
  assert.equal(log.lines.filter(({ level }) => level === 'error').length, 0)
})

test('an allowed exposure admits during an outage, so much for each account, noted on the disk first', async (t) => {
  const credit = await outage(t, { exposureNanoUsd: 250n })
  const { database, port, power, log } = credit
  power.away = true
  const first = await port.hold(holdAsk({ clientRequestId: 'theirs' }))
  assert.equal(first.unrecorded, true)
  assert.match(spooled(credit), new RegExp(`^[0-9a-f]{8} \\["I",.*"id":"${first.id}".*"costNanoUsd":"10"`, 'm'))
  const second = await port.hold(holdAsk())
  await assert.rejects(port.hold(holdAsk()), { code: 'database_unavailable' })
  for (const held of [first, second]) port.dispatched(held)
  const settled = port.settle(first, recordFor(first)) // costs 60 of the 100 that were held for it: 90 are left
  await assert.rejects(port.hold(holdAsk()), { code: 'database_unavailable' })
  const third = await port.hold(holdAsk({ outputTokens: 80 }))
  port.release(second)
  port.release(third)
  const fourth = await port.hold(holdAsk({ outputTokens: 180 }))
  assert.equal(await port.extend(fourth, 1n), false)
  const settledToo = port.settle(fourth, recordFor(fourth, { costNanoUsd: 190n }))
  assert.equal((await ledgerSnapshot(database)).completions.length, 0)
  power.away = false
  await Promise.all([settled, settledToo])
  const { balance, held, completions } = await ledgerSnapshot(database)
  assert.deepEqual([balance, held], [1_000_000n - 250n, 0n])
  assert.deepEqual(
    completions.map(({ id }) => id),
    [first.id, fourth.id],
  )
  power.away = true
  await assert.rejects(port.hold(holdAsk({ outputTokens: 241 })), { code: 'database_unavailable' })
  const whole = await port.hold(holdAsk({ outputTokens: 240 }))
  port.release(whole)
  assert.equal(log.lines.filter(({ level }) => level === 'error').length, 0)
})

test('an exposure lowers a request without max_tokens like credit does, and can be raised into', async (t) => {
  const { port, power } = await outage(t, { exposureNanoUsd: 300n })
  power.away = true
  const held = await port.hold(holdAsk({ outputTokens: 5_000, flexible: true }))
  assert.deepEqual([held.outputTokens, held.amountNanoUsd], [290, 300n])
  port.release(held)
  const small = await port.hold(holdAsk())
  assert.equal(await port.extend(small, 200n), true)
  assert.equal(small.amountNanoUsd, 300n)
  assert.equal(await port.extend(small, 1n), false)
  port.release(small)
})

test('F14: a hold whose reply was lost and that was then admitted on exposure is charged once, and nothing stays held', async (t) => {
  let lose = true
  const looked = Promise.withResolvers<void>()
  const store = (real: LedgerStore): LedgerStore => ({
    async commit(batch) {
      if (!lose) await looked.promise
      const outcomes = await real.commit(batch)
      if (!lose || batch.units.length === 0) return outcomes
      lose = false
      throw new GatewayError('database_unavailable', 'lost')
    },
  })
  const { database, port, committer } = await spooledCredit(t, { store, exposureNanoUsd: 1_000n })
  const held = await port.hold(holdAsk())
  assert.equal(held.unrecorded, true)
  assert.equal((await ledgerSnapshot(database)).held, 100n)
  looked.resolve() // and not before: it would be given back by now on a machine that stood still
  port.dispatched(held)
  await port.settle(held, recordFor(held))
  await committer.flush()
  const after = await ledgerSnapshot(database)
  assert.deepEqual([after.balance, after.held, after.completions.length], [1_000_000n - 60n, 0n, 1])
})

test('spool full: nothing more is admitted, what runs is still settled', async (t) => {
  const credit = await outage(t, { spool: { maxSettlements: 3 } })
  const { database, port, power } = credit
  const running = await Promise.all([1, 2, 3].map(() => port.hold(holdAsk())))
  await assert.rejects(port.hold(holdAsk()), { code: 'database_unavailable', status: 503 })
  power.away = true
  const settlements = running.map((held) => port.settle(held, recordFor(held)))
  await assert.rejects(port.hold(holdAsk()), { code: 'database_unavailable' })
  power.away = false
  await Promise.all(settlements)
  assert.equal((await ledgerSnapshot(database)).completions.length, 3)
  const held = await port.hold(holdAsk())
  await port.settle(held, recordFor(held))
})

test('refused holds take no room', async (t) => {
  const { port } = await spooledCredit(t, { creditNanoUsd: 0n, spool: { maxSettlements: 1 } })
  for (let time = 0; time < 3; time++) await assert.rejects(port.hold(holdAsk()), { code: 'insufficient_credit' })
})

test('while the database is away, settlements are brought to the disk, those of before as well', async (t) => {
  const credit = await outage(t)
  const { committer, power, instanceId, log } = credit
  let syncs = 0
  const sync = () => {
    syncs += 1
  }
  const spool: Spool = { ...credit.spool, sync }
  const input = { committer, spool, terms: () => PREPAID, instanceId, exposureNanoUsd: () => 0n, log }
  const port = createCreditPort(input)
  const [first, second] = [await port.hold(holdAsk()), await port.hold(holdAsk())]
  const early = port.settle(first, recordFor(first))
  assert.equal(syncs, 0)
  power.away = true
  await assert.rejects(port.hold(holdAsk()), { code: 'database_unavailable' })
  assert.equal(syncs, 1, 'when it was noticed')
  const late = port.settle(second, recordFor(second))
  assert.equal(syncs, 2)
  power.away = false
  await Promise.all([early, late])
})

test('F16: the points at which a settlement may be cut off', async (t) => {
  const { port } = await spooledCredit(t)
  const held = await port.hold(holdAsk())
  const reached: CrashPoint[] = []
  t.after(() => onReach(undefined))
  onReach((point) => reached.push(point))
  const settled = port.settle(held, recordFor(held))
  assert.deepEqual(reached, ['before_settle', 'in_settle'])
  await settled
  assert.deepEqual(reached, ['before_settle', 'in_settle', 'after_settle'])
})
