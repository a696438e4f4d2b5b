/** OVL-2 on a whole process, a slow test: its event loop is held up from outside, by stopping and continuing it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, CHAT, errorOf, eventually, hello, send } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { streamUntil } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const STREAMS = 40
const STALL_MS = 350
const RECOVERS_WITHIN_MS = 60_000

/** The streams are held up, seen, and go on afterwards, however long that takes. */
const recovered = Promise.withResolvers<void>()
const provider = await startFakeProvider(streamUntil(recovered.promise))
const gateway = await startGateway({ config: oneModel(provider.url) })
after(async () => {
  await gateway.stop()
  await provider.close()
})

/** Asks without a key: what is turned away is turned away before that is looked at. */
const knock = (): Promise<Answer> => send(gateway, CHAT, { body: hello() })
const metrics = async (): Promise<string> => (await send(gateway, '/metrics')).text
const OVERLOADED = /^turnpike_overloaded 1$/m
const isShed = ({ status }: Answer): boolean => status === 503

/** Stops the process again and again until `end` is called. */
function holdUp(): { end(): Promise<void> } {
  let isOver = false
  const ended = (async () => {
    while (!isOver) {
      gateway.signal('SIGSTOP')
      await sleep(STALL_MS)
      gateway.signal('SIGCONT')
      await sleep(50)
    }
  })()
  return {
    end: () => {
      isOver = true
      return ended
    },
  }
}

test('OVL-2: while its event loop is late, a process turns new requests away, serves the others, and recovers', async (t) => {
  const account = await gateway.cli('accounts', 'create', '--name', 'busy')
  const key = await gateway.key('--account', account)
  const streams = Array.from({ length: STREAMS }, () => send(gateway, CHAT, { key, body: hello({ stream: true }) }))
  await provider.call(STREAMS - 1)
  assert.equal((await eventually(knock, (answer) => !isShed(answer), RECOVERS_WITHIN_MS)).status, 401)
  const hold = holdUp()
  t.after(() => hold.end()) // or the file does not come to its end where this fails
  const shed = await eventually(knock, isShed, RECOVERS_WITHIN_MS)
  assert.equal(shed.status, 503)
  assert.deepEqual([errorOf(shed).code, shed.headers['retry-after']], ['overloaded', '2'])
  for (const path of ['/healthz', '/readyz']) assert.equal((await send(gateway, path)).status, 200)
  const told = await eventually(metrics, (text) => OVERLOADED.test(text), RECOVERS_WITHIN_MS)
  assert.match(told, OVERLOADED)
  assert.equal((await send(gateway, '/v1/admin/instances')).status, 401)
  await hold.end()
  assert.equal((await eventually(knock, (answer) => !isShed(answer), RECOVERS_WITHIN_MS)).status, 401)
  recovered.resolve()
  for (const { status, text } of await Promise.all(streams)) {
    assert.equal(status, 200)
    assert.match(text, /data: \[DONE\]\n\n$/)
    assert.doesNotMatch(text, /"error"/)
  }
  assert.equal((await creditAtRest(gateway, { account, key }, RECOVERS_WITHIN_MS)).held_usd, 0)
  const rows = await everyRow<UsageRow>(gateway, key, '/v1/usage/completions')
  assert.equal(rows.filter(({ status }) => status === 'completed').length, STREAMS)
  assert.ok((await reconcile(gateway, key)).ok)
  assert.match(gateway.output(), /overloaded: new requests are rejected/)
})
