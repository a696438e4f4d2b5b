import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/client.ts'
import { temporaryDatabase, temporaryPath } from '../../../test/support/database.ts'
import { ensureAccounts } from '../../../test/support/ledger/completions.ts'
import {
  ACCOUNT,
  holdAsk,
  ledgerSnapshot,
  openSpooledCredit,
  PREPAID,
  purchase,
  recordFor,
  recordingLog,
  spooledCredit,
} from '../../../test/support/ledger/spooled-credit.ts'
import { timedDatabase } from '../../../test/support/timed-database.ts'
import type { Hold } from '../../domain/credit.ts'
import type { GatewayError } from '../../domain/errors.ts'
import type { InstanceId } from '../../domain/ids.ts'
import { createInstanceLease, LAPSE_MS, LEASE_MS } from '../../jobs/instance-lease.ts'
import { createLedgerStore } from './ledger/store.ts'
import { createHoldGuard, sweepHolds } from './sweeper.ts'

test('INV-10: requests whose holds were swept end, the others go on; without a lease all of them end', async (t) => {
  const { port, db, instanceId } = await spooledCredit(t)
  const [kept, swept] = [await port.hold(holdAsk()), await port.hold(holdAsk())]
  const unrecorded = { ...kept, id: holdAsk().id, unrecorded: true }
  const running: readonly Hold[] = [kept, swept, unrecorded]
  let ended: { readonly id: string; readonly code: string }[] = []
  const requests = {
    holds: () => running,
    interruptHeld: (reason: GatewayError, isLost: (hold: Hold) => boolean) => {
      ended = running.filter(isLost).map(({ id }) => ({ id, code: reason.code }))
    },
  }
  const guard = createHoldGuard({ db, instanceId, requests: () => requests, log: recordingLog() })
  await guard.regained()
  assert.deepEqual(ended, [])
  await db.deleteFrom('hold').where('id', '=', swept.id).execute()
  await guard.regained()
  assert.deepEqual(ended, [{ id: swept.id, code: 'database_unavailable' }])
  guard.lapsed()
  assert.deepEqual(
    ended.map(({ id }) => id),
    [kept.id, swept.id],
    'what was admitted without the database has no hold that could be swept',
  )
})

const [LATE, SWEEPER] = ['ins_late' as InstanceId, 'ins_sweeper' as InstanceId]

/** Two processes on one database: one whose lease may lapse, by a clock of the test, and one that sweeps. */
async function twoProcesses(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const at = Date.now()
  const database = timedDatabase(await temporaryDatabase(t), () => at)
  const { db } = database
  await ensureAccounts(database, [ACCOUNT])
  await createLedgerStore(database).commit({ units: [purchase(1_000n)] })
  const log = recordingLog()
  const common = { db, version: '1', role: 'all', address: undefined, log } as const
  const running: Hold[] = []
  const ended: string[] = []
  const interruptHeld = (reason: GatewayError, isLost: (hold: Hold) => boolean) =>
    void ended.push(...running.filter(isLost).map(({ id }) => `${id} ${reason.code}`))
  const guard = createHoldGuard({
    db,
    instanceId: LATE,
    requests: () => ({ holds: () => running, interruptHeld }),
    log,
  })
  let ms = 0
  const lease = createInstanceLease({ ...common, instanceId: LATE, guard, clock: () => ms, now: () => 0 })
  const others = createInstanceLease({ ...common, instanceId: SWEEPER })
  await Promise.all([lease.start(), others.start()])
  const open = async (instanceId: InstanceId, ensureLease: () => Promise<boolean> | boolean) => {
    const process = openSpooledCredit(database, { dataDirectory: await temporaryPath(t), instanceId, ensureLease })
    t.after(() => Promise.all([process.committer.close(), process.spool.close()]))
    return process
  }
  // A renewal is waited for 3 s, which a busy machine may need.
  const late = await open(LATE, () => eventually(async () => lease.ensure(), Boolean))
  const { committer } = await open(SWEEPER, others.ensure)
  const sweep = () => {
    const always = { steady: () => true, terms: () => PREPAID, recover: async () => {}, now: Date.now, log }
    return sweepHolds({ db, committer, instanceId: SWEEPER, ...always })
  }
  /** So long that others take it for gone. */
  const lapse = async () => {
    ms += LAPSE_MS
    const seen_at = at - 2 * LEASE_MS
    await db.updateTable('instance').set({ seen_at }).where('id', '=', LATE).execute()
  }
  t.after(() => Promise.all([lease.close(), others.close()]))
  return { database, late, running, ended, sweep, lapse }
}

test('INV-10: after a lapse the lease is renewed before anything else; what was swept ends, and its charge becomes exact', async (t) => {
  const { database, late, running, ended, sweep, lapse } = await twoProcesses(t)
  const swept = await late.port.hold(holdAsk())
  running.push(swept)
  late.port.dispatched(swept)
  await lapse()
  assert.equal(await sweep(), 1)
  const after = await late.port.hold(holdAsk())
  running.push(after)
  assert.deepEqual(ended, [`${swept.id} database_unavailable`], 'before anything new was admitted')
  assert.equal(await sweep(), 0, 'what is held under the renewed lease is left alone')
  await late.port.settle(swept, recordFor(swept))
  running.splice(0, 1)
  await lapse()
  const third = await late.port.hold(holdAsk())
  assert.deepEqual(ended.length, 1, 'nobody has swept this time: the request goes on')
  await late.port.settle(after, recordFor(after))
  await late.port.settle(third, recordFor(third))
  const { balance, held, completions } = await ledgerSnapshot(database)
  assert.deepEqual([balance, held], [1_000n - 3n * 60n, 0n])
  assert.deepEqual(
    completions.map(({ status, cost_nano_usd: cost }) => [status, cost]),
    [1, 2, 3].map(() => ['completed', 60n]),
  )
})

test('INV-10: a request that never left its process costs nothing, although others swept its hold meanwhile', async (t) => {
  const { database, late, running, sweep, lapse } = await twoProcesses(t)
  const waiting = await late.port.hold(holdAsk())
  running.push(waiting)
  await lapse()
  assert.equal(await sweep(), 1)
  assert.notEqual((await ledgerSnapshot(database)).balance, 1_000n)
  late.port.release(waiting)
  await late.committer.flush()
  const { balance, held, completions } = await ledgerSnapshot(database)
  assert.deepEqual([balance, held], [1_000n, 0n])
  assert.deepEqual(
    completions.map(({ status, cost_nano_usd: cost }) => [status, cost]),
    [['failed', 0n]],
  )
})
