/** Bring your own key: an account's credentials at providers, from their entry to the charge, in two processes. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Answer, bestOf, CHAT, errorOf, eventually, getJson, hello, send } from '../support/client.ts'
import { type Gateway, model, startGateway } from '../support/gateway.ts'
import { reconcile } from '../support/ledger/money.ts'
import { makeHome, type RunOptions } from '../support/process/command-line.ts'
import { ordinary, streamUntil } from '../support/providers/answers.ts'
import { type ProviderCall, type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const OPERATOR_KEY = 'sk-operator-of-tests'
const OWN_KEY = 'sk-own-key-of-the-account-1'
const ROTATED_KEY = 'sk-own-key-of-the-account-2'
const PATH = '/v1/provider-credentials'
/** The lease of a process that is gone has run out, and a sweep has come. */
const SWEPT_WITHIN_MS = 180_000
/** By the other process, of a change. */
const APPLIED_WITHIN_MS = 1_000

/** Keys that the provider accepts. */
const accepted = new Set([OPERATOR_KEY, OWN_KEY, ROTATED_KEY])
const keyOf = ({ headers }: ProviderCall): string => (headers.authorization ?? '').replace('Bearer ', '')

const provider = await startFakeProvider((call, reply) => script(call, reply))
let answer: Script = ordinary
const script: Script = (call, reply) => {
  if (!accepted.has(keyOf(call))) {
    reply.head(401, { 'content-type': 'application/json' })
    return reply.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${keyOf(call)}` } }))
  }
  if (!call.path.endsWith('/models')) return answer(call, reply)
  reply.head(200, { 'content-type': 'application/json' })
  reply.end('{"data":[]}')
}

const config = {
  providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: OPERATOR_KEY } },
  models: [model('m1', 'up', 'up-model')],
  plans: { fee: { byok_fee_percent: 5, monthly_credit_usd: 10 } },
  accounts: { default_plan: 'fee' },
  routing: { max_attempts: 3 },
}
const first = await startGateway({ config })
const second = await startGateway({ config, dataDir: first.dataDir })
after(async () => {
  await second.stop()
  await first.stop()
  await provider.close()
})

interface WireCredential {
  readonly id: string
  readonly status: string
  readonly last4: string
  readonly key_id: string | null
  readonly allow_fallback: boolean
}

interface WireRow {
  readonly id: string
  readonly status: string
  readonly cost_usd: number
  readonly byok?: true
  readonly list_cost_usd?: number
  readonly attempt_log: readonly { readonly outcome: string; readonly provider_credential_id?: string }[]
  readonly pricing?: { readonly rule: string; readonly byok_fee_percent?: number } | null
}

const add = (key: string, over: object = {}): Promise<Answer> =>
  send(first, PATH, { key, body: { provider: 'up', api_key: OWN_KEY, ...over } })

async function added(key: string, over: object = {}): Promise<WireCredential> {
  const { status, text } = await add(key, over)
  assert.equal(status, 201, text)
  return JSON.parse(text) as WireCredential
}

/** A new account with credit, and a key of it. */
async function customer(): Promise<string> {
  return first.keyOfNewAccount()
}

const chat = (gateway: Gateway, key: string, over: Readonly<Record<string, unknown>> = {}): Promise<Answer> =>
  send(gateway, CHAT, { key, body: hello(over) })

async function usedBy(gateway: Gateway, key: string): Promise<string | undefined> {
  const before = provider.calls.length
  const { status, text } = await chat(gateway, key)
  assert.equal(status, 200, text)
  const call = provider.calls[before]
  return call && keyOf(call)
}

async function rows(key: string, count: number, withinMs?: number): Promise<readonly WireRow[]> {
  const { data } = await eventually(
    () => getJson<{ readonly data: readonly WireRow[] }>(first, key, '/v1/usage/completions'),
    (page) => page.data.length === count,
    withinMs,
  )
  return data
}

const whole = (key: string, id: string) => getJson<WireRow>(first, key, `/v1/usage/completions/${id}`)

test('a key is tested, sealed and never shown; both processes call with it, until it is deleted', async () => {
  const key = await customer()
  assert.equal(await usedBy(second, key), OPERATOR_KEY)
  const credential = await added(key, { name: 'ours' })
  assert.deepEqual([credential.status, credential.last4, credential.key_id], ['verified', 'nt-1', null])
  for (const gateway of [first, second]) {
    await eventually(
      () => usedBy(gateway, key),
      (used) => used === OWN_KEY,
    )
  }
  for (const path of [PATH, `${PATH}/${credential.id}`, '/v1/audit']) {
    const { text } = await send(first, path, { key })
    assert.doesNotMatch(text, /own-key-of-the-account/)
  }
  assert.equal((await send(first, `${PATH}/${credential.id}`, { key, method: 'DELETE' })).status, 204)
  assert.equal(await usedBy(first, key), OPERATOR_KEY, 'at once in the process that deleted it')
  await eventually(
    () => usedBy(second, key),
    (used) => used === OPERATOR_KEY,
  )
})

test('a rotation replaces the key in both processes within a second; the old one is not used any more', async () => {
  const key = await customer()
  const { id } = await added(key)
  let current = OWN_KEY
  const rotate = async () => {
    current = current === OWN_KEY ? ROTATED_KEY : OWN_KEY
    const rotated = await send(second, `${PATH}/${id}`, { key, method: 'PATCH', body: { api_key: current } })
    assert.equal(rotated.status, 200, rotated.text)
    const rotatedAt = performance.now()
    assert.equal(await usedBy(second, key), current)
    await eventually(
      () => usedBy(first, key),
      (used) => used === current,
    )
    return performance.now() - rotatedAt
  }
  const appliedMs = await bestOf(rotate, APPLIED_WITHIN_MS)
  assert.ok(appliedMs <= APPLIED_WITHIN_MS, `applied after ${appliedMs} ms`)
})

test('a key that the provider rejects is not stored; the error does not repeat it', async () => {
  const key = await customer()
  const refused = await add(key, { api_key: 'sk-nobody-knows-this-one' })
  assert.equal(refused.status, 400)
  assert.deepEqual([errorOf(refused).code, errorOf(refused).param], ['invalid_value', 'api_key'])
  assert.match(errorOf(refused).message, /rejected 'api_key' \(status 401\)/)
  for (const wrong of ['short', 'sk-with a space-inside', `sk-${'x'.repeat(5_000)}`]) {
    const invalid = await add(key, { api_key: wrong })
    assert.equal(invalid.status, 400)
    assert.doesNotMatch(invalid.text, /with a space|xxxx/)
  }
  for (const over of [{ provider: 'nobody' }, { provider: 'simulator' }, { key_id: 'key_nobody' }]) {
    assert.equal((await add(key, over)).status, 404, JSON.stringify(over))
  }
  await added(key)
  assert.equal((await add(key)).status, 409, 'one for each provider')
  const page = await getJson<{ readonly data: readonly WireCredential[] }>(first, key, PATH)
  assert.equal(page.data.length, 1)
})

test('calls are metered and charged the fee of the plan; audit and reconciliation agree', async () => {
  const key = await customer()
  const { id } = await added(key)
  const answered = await chat(first, key)
  const cost = Number(answered.headers['x-turnpike-cost-usd'])
  const streamed = await chat(first, key, { stream: true })
  assert.equal(streamed.status, 200)
  const [, row] = await rows(key, 2)
  assert.ok(row)
  // 10 prompt tokens at $1 and 5 at $2 a million
  assert.deepEqual([row.byok, row.list_cost_usd, row.cost_usd, cost], [true, 0.00002, 0.000001, 0.000001])
  assert.deepEqual(
    row.attempt_log.map((attempt) => [attempt.outcome, attempt.provider_credential_id]),
    [['answered', id]],
  )
  const { pricing } = await whole(key, row.id)
  assert.deepEqual([pricing?.rule, pricing?.byok_fee_percent], ['byok', 5])
  assert.equal((await reconcile(first, key)).ok, true)
  assert.match(answered.headers['x-turnpike-route'] ?? '', /;byok;why=only;outcome=answered/)
})

test('a refused key is the account’s error: the operator’s is not used, and is not cooled', async () => {
  const key = await customer()
  const other = await customer()
  await added(key, { api_key: ROTATED_KEY })
  accepted.delete(ROTATED_KEY)
  const before = provider.calls.length
  const refused = await chat(first, key)
  assert.deepEqual([refused.status, errorOf(refused).code], [403, 'own_credential_refused'])
  assert.doesNotMatch(refused.text, /own-key-of-the-account/)
  assert.deepEqual(provider.calls.slice(before).map(keyOf), [ROTATED_KEY])
  assert.equal(await usedBy(first, other), OPERATOR_KEY, 'nobody else notices')
  const [row] = await rows(key, 1)
  assert.deepEqual([row?.status, row?.cost_usd, row?.byok], ['failed', 0, true])
  const page = await eventually(
    () => getJson<{ readonly data: readonly WireCredential[] }>(first, key, PATH),
    ({ data }) => data[0]?.status === 'refused',
  )
  assert.equal(page.data.length, 1)
  assert.doesNotMatch(first.output(), /a provider refuses the gateway/)
  accepted.add(ROTATED_KEY)
})

test('with allow_fallback the operator’s credential is the fallback, at the full price', async () => {
  const key = await customer()
  await added(key, { api_key: ROTATED_KEY, allow_fallback: true })
  accepted.delete(ROTATED_KEY)
  const before = provider.calls.length
  const { status, text, headers } = await chat(first, key)
  assert.equal(status, 200, text)
  assert.deepEqual(provider.calls.slice(before).map(keyOf), [ROTATED_KEY, OPERATOR_KEY])
  assert.equal(Number(headers['x-turnpike-cost-usd']), 0.00002)
  const [row] = await rows(key, 1)
  assert.deepEqual([row?.byok, row?.cost_usd], [undefined, 0.00002])
  assert.equal((await reconcile(first, key)).ok, true)
  accepted.add(ROTATED_KEY)
})

test('a credential of one key applies to that key and the keys that it created, before the account’s', async () => {
  const key = await customer()
  const created = await send(first, '/v1/keys', { key, body: { name: 'child' } })
  const child = JSON.parse(created.text) as { readonly id: string; readonly key: string }
  const grandchild = await send(first, '/v1/keys', { key: child.key, body: { name: 'grandchild' } })
  const { key: below } = JSON.parse(grandchild.text) as { readonly key: string }
  await added(key, { key_id: child.id, api_key: ROTATED_KEY })
  assert.equal(await usedBy(first, key), OPERATOR_KEY)
  assert.deepEqual([await usedBy(first, child.key), await usedBy(first, below)], [ROTATED_KEY, ROTATED_KEY])
  await added(key)
  assert.deepEqual([await usedBy(first, key), await usedBy(first, below)], [OWN_KEY, ROTATED_KEY])
})

test('the commands read keys from standard input or the environment, and print none', async (t) => {
  const key = await customer()
  const home = makeHome({ TURNPIKE_URL: first.url, TURNPIKE_API_KEY: key })
  t.after(() => home.remove())
  const run = async (words: readonly string[], options: RunOptions = {}) => {
    const { code, stdout, stderr } = await home.run(['provider-credentials', ...words], options)
    assert.doesNotMatch(stdout + stderr, /own-key-of-the-account/)
    return { code, stdout, stderr }
  }
  const { stdout: made, stderr } = await run(['add', 'up', '--name', 'ours'], { input: `${OWN_KEY}\n` })
  const id = made.trim()
  assert.match(id, /^pcr_/)
  assert.match(stderr, /verified/)
  assert.equal(await usedBy(first, key), OWN_KEY)
  const env = { TURNPIKE_PROVIDER_API_KEY: ROTATED_KEY }
  assert.match((await run(['rotate', id], { env })).stdout, /Rotated pcr_/)
  assert.equal(await usedBy(first, key), ROTATED_KEY)
  assert.match((await run(['list'])).stdout, new RegExp(`${id}.*up.*nt-2.*all keys.*verified.*ours`))
  assert.equal((await run(['add', 'up'], { input: '' })).code, 2)
  assert.match((await run(['remove', id])).stdout, /Removed/)
  assert.equal(await usedBy(first, key), OPERATOR_KEY)
})

test('other accounts neither see nor use a credential', async () => {
  const [key, other] = [await customer(), await customer()]
  const { id } = await added(key)
  assert.equal(await usedBy(first, other), OPERATOR_KEY)
  for (const method of ['GET', 'DELETE']) {
    assert.equal((await send(first, `${PATH}/${id}`, { key: other, method })).status, 404)
  }
  const patched = await send(first, `${PATH}/${id}`, { key: other, method: 'PATCH', body: { name: 'mine' } })
  assert.equal(patched.status, 404)
  assert.equal(await usedBy(first, key), OWN_KEY)
})

test('a process that is killed charges at most the fee, and the audit of the ledger finds no errors', async () => {
  const never = Promise.withResolvers<void>()
  const key = await customer()
  await added(key)
  answer = streamUntil(never.promise)
  const victim = await startGateway({ config, dataDir: first.dataDir })
  const before = provider.calls.length
  const cut = chat(victim, key, { stream: true }).catch(() => undefined)
  await provider.call(before)
  victim.signal('SIGKILL')
  await Promise.all([victim.exited, cut])
  answer = ordinary
  never.resolve()
  const [row] = await rows(key, 1, SWEPT_WITHIN_MS)
  assert.equal(row?.byok, true)
  assert.ok(Number(row?.cost_usd) <= 0.000001, String(row?.cost_usd))
  const audit = JSON.parse(await first.cli('ledger', 'audit', '--json')) as { readonly findings: unknown }
  assert.deepEqual(audit.findings, [])
})
