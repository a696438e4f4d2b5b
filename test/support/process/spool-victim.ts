/**
 * A process of its own that leaves everything in its spool that a process can, and waits to be killed. None of its
 * settlements and releases ever reaches the database.
 * Arguments: the database's path, the data directory, the instance's id, and `away` if the database is to be away or the
 * name of a crash point: then it only settles one request of 60, and kills itself there.
 */
import type { CreditPort, Hold, SavedResult } from '../../../src/domain/credit.ts'
import { GatewayError } from '../../../src/domain/errors.ts'
import type { InstanceId } from '../../../src/domain/ids.ts'
import type { LedgerStore } from '../../../src/features/credit/ledger/unit.ts'
import { CRASH_POINTS, type CrashPoint, onReach } from '../../../src/lib/crash-point.ts'
import { openLocation } from '../database.ts'
import { ACCOUNT, holdAsk, openSpooledCredit, recordFor } from '../ledger/spooled-credit.ts'

export interface Left {
  /** Exactly settled, of 60, and one of 61 with a kept answer. */
  readonly settled: string[]
  readonly neverLeft: string
  readonly underWay: string
  readonly released: string
}

const [, , path = '', dataDirectory = '', instanceId = '', mode] = process.argv
const isAway = mode === 'away'
const crashAt = CRASH_POINTS.find((point) => point === mode)
const database = await openLocation(path)
const { port } = openSpooledCredit(database, {
  dataDirectory,
  instanceId: instanceId as InstanceId,
  exposureNanoUsd: 1_000_000n,
  store: isAway ? away : crashAt === undefined ? holdsOnly : (real) => real,
})
if (crashAt !== undefined) await settleUntil(crashAt)
const left = await leaveEverything(port)
// The checkpoint of the spool is written after 5 ms.
await new Promise((resolve) => setTimeout(resolve, 50))
process.stdout.write(`${JSON.stringify(left)}\n`)
setInterval(() => {}, 1_000)

async function settleUntil(crashAt: CrashPoint): Promise<void> {
  const hold = await port.hold(holdAsk())
  port.dispatched(hold)
  process.stdout.write(`${JSON.stringify(hold.id)}\n`)
  onReach((point) => {
    if (point === crashAt) process.kill(process.pid, 'SIGKILL')
  })
  await port.settle(hold, recordFor(hold))
}

async function leaveEverything(credit: CreditPort): Promise<Left> {
  const holds: Hold[] = []
  for (let count = 0; count < 6; count++) holds.push(await credit.hold(holdAsk()))
  const [first, second, third, neverLeft, underWay, released] = holds as [Hold, Hold, Hold, Hold, Hold, Hold]
  for (const hold of [first, second, third, underWay, released]) credit.dispatched(hold)
  const kept: SavedResult = {
    accountId: ACCOUNT,
    endpoint: 'POST /v1/chat/completions',
    key: 'their-key',
    answer: { status: 200, headers: { 'x-turnpike-attempts': '1' }, body: '{"answer":"é\\n"}' },
  }
  void credit.settle(first, recordFor(first))
  void credit.settle(second, recordFor(second))
  void credit.settle(third, recordFor(third, { costNanoUsd: 61n }), isAway ? undefined : kept)
  credit.release(released)
  return {
    settled: [first.id, second.id, third.id],
    neverLeft: neverLeft.id,
    underWay: underWay.id,
    released: released.id,
  }
}

function holdsOnly(real: LedgerStore): LedgerStore {
  return {
    commit: (batch) =>
      batch.units.every(({ kind }) => kind === 'hold') ? real.commit(batch) : new Promise<never>(() => {}),
  }
}

function away(): LedgerStore {
  return { commit: () => Promise.reject(new GatewayError('database_unavailable', 'away')) }
}
