/** One count of tokens for all protocols; the ledger's tests have both databases. Runs on one database. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { eventually, hello, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { routesOfTheService } from '../support/http/routes.ts'
import { everyRow, type LedgerRow, reportsMaxTokens } from '../support/ledger/money.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const provider = await startFakeProvider(reportsMaxTokens)
const config = {
  providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' } },
  models: [model('m1', 'up', 'up-model')],
  plans: { wide: { requests_per_minute: 100_000 } },
}
const gateway = await startGateway({ config })
const folder = mkdtempSync(join(tmpdir(), 'turnpike-routes-'))
after(async () => {
  await gateway.stop()
  await provider.close()
  rmSync(folder, { recursive: true, force: true })
})

const BODY = hello({ max_tokens: 20, name: 'a', repository: 'a/b', prompt: 'do' })

async function accountWith(usd: string | undefined) {
  const account = await gateway.cli('accounts', 'create', '--name', 'walker', '--plan', 'wide')
  if (usd !== undefined) await gateway.cli('credits', 'grant', '--account', account, '--usd', usd)
  return gateway.key('--account', account, '--operator')
}

test('LED-8, INV-12: no route reaches a provider without a hold, and none that does goes uncharged', async (t) => {
  const routes = await routesOfTheService(t, folder)
  assert.ok(routes.some(({ path }) => path === '/v1/chat/completions') && routes.length > 20, 'the table is whole')
  const [poor, rich] = [await accountWith(undefined), await accountWith('1')]
  const reaching: string[] = []
  for (const { method, path } of routes) {
    const url = path.replaceAll(/:\w+/g, 'x').replaceAll('*', 'x')
    const body = method === 'GET' || method === 'HEAD' || method === 'DELETE' ? undefined : BODY
    // A stream of events would have no end; this one is refused when all else about the request is right.
    const headers = { 'last-event-id': 'none' }
    const call = { method, headers, ...(body === undefined ? {} : { body }) }
    const before = provider.calls.length
    await send(gateway, url, { ...call, key: poor })
    assert.equal(provider.calls.length, before, `${method} ${path} reached a provider without credit`)
    const bills = provider.bills.length
    await send(gateway, url, { ...call, key: rich })
    if (provider.bills.length > bills) reaching.push(`${method} ${path}`)
  }
  assert.ok(reaching.includes('POST /v1/chat/completions'), 'the walk does reach providers')
  const charges = await eventually(
    () => everyRow<LedgerRow>(gateway, rich, '/v1/ledger?kind=charge'),
    ({ length }) => length >= provider.bills.length,
  )
  assert.equal(charges.length, provider.bills.length, `one charge for each call of ${reaching.join(', ')}`)
  assert.ok(charges.every(({ amount_usd }) => amount_usd < 0))
})
