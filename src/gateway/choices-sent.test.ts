import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hello, ordinary, plane } from '../../test/support/ledger/plane.ts'
import { MAX_SENT_BYTES } from './admit.ts'

const findings = (bytes: number) => ({ findings: { bytes, prompt: undefined, fingerprint: undefined } })

test('a large prompt that would be sent once for each choice is rejected above the limit [limit: sent-bytes]', async () => {
  const one = plane(() => ordinary(), { severalChoices: false })
  const fits = await one.ask(hello({ n: 4, stream: true }), undefined, findings(MAX_SENT_BYTES / 4))
  assert.equal(fits.error, undefined)
  const refused = await one.ask(hello({ n: 4, stream: true }), undefined, findings(MAX_SENT_BYTES / 4 + 1))
  assert.deepEqual([refused.error?.status, refused.error?.code, refused.error?.param], [413, 'body_too_large', 'n'])
  const several = plane(() => ordinary())
  assert.equal((await several.ask(hello({ n: 4, stream: true }), undefined, findings(MAX_SENT_BYTES))).error, undefined)
  assert.equal((await one.ask(hello({ stream: true }), undefined, findings(2 * MAX_SENT_BYTES))).error, undefined)
})
