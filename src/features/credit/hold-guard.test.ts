import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdAsk, recordingLog, spooledCredit } from '../../../test/support/spooled-credit.ts'
import type { Hold } from '../../domain/credit.ts'
import type { GatewayError } from '../../domain/errors.ts'
import { createHoldGuard } from './hold-guard.ts'

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
