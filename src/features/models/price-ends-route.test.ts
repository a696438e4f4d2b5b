import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { callerOf } from '../../http/caller.ts'
import { buildModelBook } from './book.ts'
import { priceEndsRoute } from './routes.ts'

const NOW = Date.UTC(2026, 10, 23, 12)
const TARIFF = { input_per_million: 1, output_per_million: 2 }

/** @param ends The last day of its price. */
function model(id: string, ends: string | undefined, successors: readonly { readonly starts: string }[] = []) {
  const pricing = { ...TARIFF, ends, successors: successors.map((each) => ({ ...TARIFF, ...each })) }
  return { id, pricing, deployments: [{ provider: 'local', model: id }] }
}

const BOOK = buildModelBook({
  catalogue: [],
  providers: new Set(['local']),
  now: () => NOW,
  models: [
    model('soon', '2026-11-29'),
    model('ended', '2026-11-21'),
    model('later', '2026-12-24'),
    model('followed', '2026-11-25', [{ starts: '2026-11-26' }]),
    model('endless', undefined),
  ],
})

test('operators see prices that end within a week or have ended without a successor, by page, and nobody else does', async (t) => {
  const fixture = await openCreditFixture(t)
  const deps = { callerOf, cursorKey: Buffer.alloc(32, 1), models: () => BOOK, now: () => NOW }
  const request = await serveRoutes(t, fixture, [priceEndsRoute(deps)])
  const { id: account } = await fixture.account('pro')
  const { status, body } = await request('/admin/price_ends', account)
  assert.equal(status, 200)
  const ended = { id: 'ended', object: 'price_end', model: 'ended', ends_at: '2026-11-22T00:00:00.000Z', ended: true }
  const soon = { id: 'soon', object: 'price_end', model: 'soon', ends_at: '2026-11-30T00:00:00.000Z', ended: false }
  assert.deepEqual(body.data, [ended, soon])
  const first = (await request('/admin/price_ends?limit=1&order=desc', account)).body
  assert.deepEqual(first.data, [soon])
  const rest = (await request(`/admin/price_ends?limit=1&order=desc&cursor=${first.next_cursor}`, account)).body
  assert.deepEqual([rest.data, rest.next_cursor], [[ended], null])
  assert.equal((await request('/admin/price_ends', `${account} chat`)).status, 403)
})
