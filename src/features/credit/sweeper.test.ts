import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  ACCOUNT,
  callerOf,
  holdAsk,
  ledgerSnapshot,
  openSpooledCredit,
  PREPAID,
  recordFor,
  recordingLog,
  spooledCredit,
} from '../../../test/support/ledger/spooled-credit.ts'
import { timedDatabase } from '../../../test/support/timed-database.ts'
import type { SavedResult } from '../../domain/credit.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { LEASE_GAP_MS, LEASE_MS } from '../../jobs/instance-lease.ts'
import { type CrashPoint, onReach } from '../../lib/crash-point.ts'
import { type SweepInput, sweepHolds } from './sweeper.ts'

const START = 1_000_000n

/** Two processes on one database, whose clock stands still: one that sweeps, one whose holds may be swept. */
async function sweeping(t: TestContext) {
  const sweeper = await spooledCredit(t, { creditNanoUsd: START })
  const { database, db, dataDirectory } = sweeper
  const other = openSpooledCredit(database, { dataDirectory })
  t.after(() => Promise.all([other.committer.close(), other.spool.close()]))
  const log = recordingLog()
  const at = Date.now()
  const input: SweepInput = {
    db: timedDatabase(database, () => at).db,
    committer: sweeper.committer,
    instanceId: sweeper.instanceId,
    steady: () => true,
    terms: () => PREPAID,
    recover: async () => {},
    now: Date.now,
    log,
  }
  /** Undefined: it has no row. */
  const seen = async (id: string, msAgo: number | undefined) => {
    await db.deleteFrom('instance').where('id', '=', id).execute()
    if (msAgo === undefined) return
    const row = { id, version: '1', role: 'all', address: null, started_at: 0, seen_at: at - msAgo }
    await db.insertInto('instance').values(row).execute()
  }
  await seen(sweeper.instanceId, 0)
  const sweep = (over: Partial<SweepInput> = {}) => sweepHolds({ ...input, ...over })
  return { ...sweeper, other, log, input, seen, sweep, now: () => ledgerSnapshot(database) }
}

test('INV-4 INV-6: a hold whose process is gone is settled once, at what it had recorded, and marked so', async (t) => {
  const { other, sweep, now, seen, log } = await sweeping(t)
  const held = await other.port.hold(
    holdAsk({
      stream: true,
      createdAt: Date.now() - 5_000,
      clientRequestId: 'theirs',
      api: 'responses',
      attribution: { tags: ['customer=acme', 'env=prod'], session: 'thread', endUser: 'f00' },
      requestId: 'req_theirs',
    }),
  )
  other.port.dispatched(held)
  const { id, accountId } = held
  other.committer.estimates([
    { accountId, id, provider: 'fallback', promptTokens: 12, completionTokens: 7, costNanoUsd: 19n },
  ])
  await other.port.hold(holdAsk()) // its batch takes the estimate along
  await seen(other.instanceId, LEASE_MS + 1_000)
  assert.equal(await sweep(), 2)
  const after = await now()
  assert.deepEqual([after.balance, after.held, after.holds.length], [START - 19n - 10n, 0n, 0])
  const row = after.completions.find((each) => each.id === id)
  assert.deepEqual(
    {
      provider: row?.provider,
      status: row?.status,
      usage_source: row?.usage_source,
      finish_reason: row?.finish_reason,
      stream: row?.stream,
      tokens: [row?.prompt_tokens, row?.completion_tokens],
      client_request_id: row?.client_request_id,
      api: row?.api,
      attribution: [row?.tags, row?.session_id, row?.end_user, row?.request_id],
      attempts: row?.attempts,
    },
    {
      provider: 'fallback',
      status: 'incomplete',
      usage_source: 'estimated',
      finish_reason: null,
      stream: 1,
      tokens: [12, 7],
      client_request_id: 'theirs',
      api: 'responses',
      attribution: ['customer=acme,env=prod', 'thread', 'f00', 'req_theirs'],
      attempts: 1,
    },
  )
  assert.ok((row?.duration_ms ?? 0) >= 5_000)
  assert.match(log.lines[0]?.message ?? '', /gone/)
  assert.equal(await sweep(), 0)
})

test('the holds of a process that is seen, and our own, are left alone', async (t) => {
  const { port, other, sweep, now, seen, instanceId } = await sweeping(t)
  await port.hold(holdAsk())
  await other.port.hold(holdAsk())
  for (const msAgo of [0, LEASE_MS - 10_000, -60_000]) {
    await seen(other.instanceId, msAgo)
    assert.equal(await sweep(), 0)
  }
  assert.equal((await now()).held, 200n)
  await seen(other.instanceId, undefined)
  assert.equal(await sweep(), 1)
  await seen(instanceId, undefined)
  assert.equal((await now()).held, 100n)
})

test('after an outage, when everybody looks dead, nobody is swept', async (t) => {
  const { other, sweep, now, seen, instanceId } = await sweeping(t)
  await other.port.hold(holdAsk())
  await seen(other.instanceId, 60_000)
  assert.equal(await sweep({ steady: () => false }), 0)
  await seen(instanceId, LEASE_GAP_MS + 1_000)
  assert.equal(await sweep(), 0, 'the lease has run out since it was looked at: the machine was asleep')
  await seen(instanceId, undefined)
  assert.equal(await sweep(), 0)
  assert.equal((await now()).held, 100n)
})

test('INV-4, INV-10: two that sweep at once charge once, and settlements that come late make the charge exact', async (t) => {
  const { other, sweep, now, seen, dataDirectory, database, log } = await sweeping(t)
  const third = openSpooledCredit(database, { dataDirectory })
  t.after(() => Promise.all([third.committer.close(), third.spool.close()]))
  const holds = await Promise.all(Array.from({ length: 50 }, () => other.port.hold(holdAsk())))
  await seen(other.instanceId, 60_000)
  await seen(third.instanceId, 0)
  const swept = await Promise.all([sweep(), sweep({ committer: third.committer, instanceId: third.instanceId })])
  assert.equal((swept[0] ?? 0) + (swept[1] ?? 0), 50)
  await Promise.all(holds.map((held) => other.port.settle(held, recordFor(held))))
  const after = await now()
  assert.deepEqual([after.balance, after.held, after.completions.length], [START - 50n * 60n, 0n, 50])
  assert.ok(
    after.completions.every(({ cost_nano_usd, usage_source }) => cost_nano_usd === 60n && usage_source === 'provider'),
  )
  assert.deepEqual(
    log.lines.filter(({ level }) => level === 'error'),
    [],
  )
  assert.equal(
    other.log.lines.some(({ level }) => level === 'warn'),
    true,
    'who comes late is told',
  )
})

test('many are swept in batches, in one go', async (t) => {
  const { other, sweep, now, seen } = await sweeping(t)
  await Promise.all(Array.from({ length: 450 }, () => other.port.hold(holdAsk())))
  await seen(other.instanceId, undefined)
  assert.equal(await sweep(), 450)
  const { held, completions } = await now()
  assert.deepEqual([held, completions.length], [0n, 450])
})

test('spools are read first: what they know is exact', async (t) => {
  const { other, sweep, now, seen } = await sweeping(t)
  const held = await other.port.hold(holdAsk())
  await seen(other.instanceId, undefined)
  assert.equal(await sweep({ recover: () => other.port.settle(held, recordFor(held)) }), 0)
  const { completions } = await now()
  assert.deepEqual(
    completions.map(({ usage_source, cost_nano_usd }) => [usage_source, cost_nano_usd]),
    [['provider', 60n]],
  )
})

test('IDEM-7: what repeats are answered is committed with the charge', async (t) => {
  const { other, sweep, db, seen, now } = await sweeping(t)
  const held = await other.port.hold(holdAsk())
  await db
    .insertInto('idempotency')
    .values({
      account_id: ACCOUNT,
      endpoint: 'POST /v1/x',
      key: 'k',
      fingerprint: new Uint8Array(32),
      state: 'running',
      subject_id: held.id,
      instance_id: other.instanceId,
      lease_until: 0,
      created_at: 0,
    })
    .execute()
  const answer = { status: 409, headers: {}, body: '{"error":{}}' }
  const outcomeOf = async ({
    id,
    costNanoUsd,
  }: {
    id: string
    costNanoUsd: bigint
  }): Promise<SavedResult | undefined> => {
    assert.deepEqual([id, costNanoUsd], [held.id, 10n])
    return { accountId: ACCOUNT, endpoint: 'POST /v1/x', key: 'k', answer }
  }
  await seen(other.instanceId, undefined)
  assert.equal(await sweep({ outcomeOf }), 1)
  const row = await db.selectFrom('idempotency').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual([row.state, row.status, row.body], ['kept', 409, '{"error":{}}'])
  assert.equal((await now()).held, 0n)
})

test('a hold that cannot be swept does not keep others, and a database that goes away ends the sweep', async (t) => {
  const { other, sweep, seen, committer, log } = await sweeping(t)
  const [first] = await Promise.all([1, 2, 3].map(() => other.port.hold(holdAsk())))
  await seen(other.instanceId, undefined)
  const swept = await sweep({
    committer: {
      submit: async (unit) =>
        unit.kind === 'settle' && unit.record.id === first?.id
          ? { kind: 'failed', message: 'a broken constraint' }
          : committer.submit(unit),
    },
  })
  assert.equal(swept, 2)
  assert.equal(log.lines.filter(({ level }) => level === 'error').length, 1)
  const away = { submit: () => Promise.reject(new GatewayError('database_unavailable', 'away')) }
  await assert.rejects(sweep({ committer: away }), { code: 'database_unavailable' })
  assert.equal(await sweep(), 1)
})

test('F16: a process may die in the midst of a sweep', async (t) => {
  const { other, sweep, seen } = await sweeping(t)
  await other.port.hold(holdAsk())
  await seen(other.instanceId, undefined)
  const reached: CrashPoint[] = []
  t.after(() => onReach(undefined))
  onReach((point) => reached.push(point))
  await sweep()
  await sweep()
  assert.deepEqual(
    reached.filter((point) => point === 'in_sweeper'),
    ['in_sweeper'],
  )
})

test("terms are those of the account's plan", async (t) => {
  const { other, sweep, seen, db } = await sweeping(t)
  const account = 'acc_b' as AccountId
  await db.insertInto('account').values({ id: account, name: 'b', plan: 'own', created_at: 1, changed_at: 1 }).execute()
  await other.port.hold(holdAsk())
  await other.port.hold(
    holdAsk({ caller: callerOf(account), rates: { inputMicroUsd: 0, outputMicroUsd: 0, fixedNanoUsd: 0 } }),
  )
  await seen(other.instanceId, undefined)
  const plans: string[] = []
  const terms = (plan: string) => {
    plans.push(plan)
    return PREPAID
  }
  assert.equal(await sweep({ terms }), 2)
  assert.deepEqual(plans, ['unlimited', 'own'])
})
