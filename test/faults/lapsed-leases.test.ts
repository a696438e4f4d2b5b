/**
 * A minute without a lease is slow: one process cut off from PostgreSQL, one stopped, and one that sweeps what they hold.
 * Runs on one database: a PostgreSQL of its own, which is what several processes share.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, CHAT, errorOf, eventually, hello, send } from '../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, type LedgerRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { type PostgresServer, startPostgres } from '../support/process/postgres-server.ts'
import { bodyOf, chunk, counts, frame, ordinary, SSE_HEAD, usageChunk } from '../support/providers/answers.ts'
import { type FakeProvider, type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { type FaultProxy, startFaultProxy } from './kit/fault-proxy.ts'

const AWAY_MS = 60_000
const GAP_MS = 500
const STREAMS = 4
/** Streams that end while their process is away, and streams that would go on for longer. */
const WORDS = [30, 390] as const
/** What these have at the process that is there all the time, where each is read to its end. */
const WORDS_TO_THE_END = [30, 160] as const
const PROMPT_TOKENS = 10
const GRANTED_USD = 10
/** A piece may be on its way in the moment when the call is given up. */
const ON_THE_WAY = 1
const CALM_WITHIN_MS = 120_000

let postgres: PostgresServer
let wire: FaultProxy
let provider: FakeProvider
/** Cut off, stopped, and neither. */
let gateways: readonly Gateway[] = []
/** What the provider has generated, by the words of the request. */
const bill = new Map<string, number>()

/** Tells its running usage with every piece, as some servers do. */
const generating: Script = async (call, reply) => {
  const name = String(bodyOf(call).messages.at(-1)?.content)
  const words = Number(name.split('-')[0])
  reply.head(200, SSE_HEAD)
  for (let word = 1; word <= words; word++) {
    bill.set(name, word)
    const usage = counts(PROMPT_TOKENS, word)
    if (!(await reply.write(frame(chunk({ content: ' hello' }, null, { usage }))))) return
    if (!(await reply.wait(GAP_MS))) return
  }
  await reply.write(frame(chunk({}, 'stop')))
  await reply.write(frame(usageChunk(counts(PROMPT_TOKENS, words))))
  reply.end(frame('[DONE]'))
}

before(async () => {
  if (process.env['TURNPIKE_TEST_DATABASE_URL'] !== undefined) return
  ;[postgres, provider] = await Promise.all([startPostgres(), startFakeProvider(generating)])
  wire = await startFaultProxy({ port: postgres.port })
  const through = (port: number) => {
    const url = new URL(postgres.url)
    url.port = String(port)
    return { DATABASE_URL: url.href, TURNPIKE_SECRET: 'known to all three of them, 32 bytes' }
  }
  const config = {
    ...oneModel(provider.url),
    plans: { wide: { requests_per_minute: 1_000_000, max_in_flight: 5_000 } },
    routing: { max_attempts: 1 },
  }
  const first = await startGateway({ config, env: through(postgres.port), args: ['--migrate'] })
  const start = (port: number) => startGateway({ config, env: through(port) })
  gateways = [await start(wire.port), await start(postgres.port), first]
})

after(async () => {
  for (const each of gateways) each.signal('SIGCONT')
  await wire?.up().catch(() => undefined)
  await Promise.all(gateways.map((each) => each.stop()))
  await Promise.all([provider?.close(), wire?.close(), postgres?.stop()])
})

async function owner() {
  const watcher = gateways[2] as Gateway
  const account = await watcher.cli('accounts', 'create', '--name', 'away', '--plan', 'wide')
  await watcher.cli('credits', 'grant', '--account', account, '--usd', String(GRANTED_USD))
  return { account, key: await watcher.key('--account', account) }
}

interface Told {
  readonly name: string
  readonly answer: Answer
}

/** Half of them end while their process is away. */
function ask(gateway: Gateway, key: string, title: string, words: readonly number[] = WORDS): readonly Promise<Told>[] {
  return Array.from({ length: STREAMS }, async (_, index) => {
    const name = `${words[index % words.length]}-${title}-${index}`
    const body = hello({ stream: true, max_tokens: 400, messages: [{ role: 'user', content: name }] })
    return { name, answer: await send(gateway, CHAT, { key, body, headers: { 'x-client-request-id': name } }) }
  })
}

test('F13, F14, INV-10: one process cut off from PostgreSQL for 60 s, one stopped for 60 s: every row is exact', async () => {
  const [cut, stopped, watcher] = gateways as [Gateway, Gateway, Gateway]
  const { account, key } = await owner()
  const streams = [
    ...ask(cut, key, 'cut'),
    ...ask(stopped, key, 'stopped'),
    ...ask(watcher, key, 'neither', WORDS_TO_THE_END),
  ]
  await provider.call(streams.length - 1)
  await sleep(3_000) // estimates are written every 2 s
  await wire.down()
  stopped.signal('SIGSTOP')
  const refused = await send(cut, CHAT, { key, body: hello() })
  assert.deepEqual([refused.status, errorOf(refused).code], [503, 'database_unavailable'], refused.text)
  await sleep(AWAY_MS)
  await wire.up()
  stopped.signal('SIGCONT')
  const told = await Promise.all(streams)
  provider.answer(ordinary)
  for (const gateway of [cut, stopped]) {
    const again = await eventually(
      () => send(gateway, CHAT, { key, body: hello({ max_tokens: 10 }) }),
      ({ status }) => status === 200,
      CALM_WITHIN_MS,
    )
    assert.equal(again.status, 200, again.text)
  }
  const read = () => everyRow<UsageRow>(watcher, key, '/v1/usage/completions')
  const isExact = ({ client_request_id: name, completion_tokens: tokens }: UsageRow) =>
    name === null || Math.abs(tokens - (bill.get(name) ?? 0)) <= ON_THE_WAY
  const rows = await eventually(
    read,
    (list) => list.length === streams.length + 2 && list.every(isExact),
    CALM_WITHIN_MS,
  )
  assertToldAndCharged(told, rows)
  const credit = await creditAtRest(watcher, { account, key }, CALM_WITHIN_MS)
  assert.equal(credit.held_usd, 0)
  const { ok, ...sums } = await reconcile(watcher, key)
  assert.ok(ok, JSON.stringify(sums))
  const spent = rows.reduce((sum, { cost_usd: cost }) => sum + Math.round(cost * 1e9), 0)
  assert.equal(Math.round(credit.balance_usd * 1e9), GRANTED_USD * 1e9 - spent, 'no double charge')
  const ledger = await everyRow<LedgerRow>(watcher, key, '/v1/ledger')
  const corrections = ledger.filter(({ note }) => note === 'late settlement')
  assert.ok(corrections.length >= STREAMS, `${corrections.length} corrections`)
  const first = ledger.filter(({ kind, note }) => kind === 'charge' && note === null)
  assert.equal(new Set(first.map(({ completion_id }) => completion_id)).size, first.length)
})

function assertToldAndCharged(told: readonly Told[], rows: readonly UsageRow[]): void {
  const table = told.map(({ name, answer }) => {
    const row = rows.find(({ client_request_id: id }) => id === name)
    const end = /"code":\s*"([a-z_]+)"/.exec(answer.text)?.[1] ?? (answer.text.includes('[DONE]') ? 'whole' : 'cut')
    return { name, end, generated: bill.get(name), charged: row?.completion_tokens, status: row?.status }
  })
  for (const line of table) console.log(`lapsed leases: ${JSON.stringify(line)}`)
  for (const { name, end, generated, charged, status } of table) {
    assert.ok(charged !== undefined && generated !== undefined, `${name} has a row`)
    if (end !== 'whole') assert.ok(Math.abs(generated - charged) <= ON_THE_WAY, `${name}: ${generated} ≠ ${charged}`)
    else assert.deepEqual([charged, status], [generated, 'completed'], name)
  }
  for (const { name, end } of table) {
    if (name.startsWith(`${WORDS[1]}-`)) assert.equal(end, 'database_unavailable', `${name}: ${end}`)
    if (name.includes('neither')) assert.equal(end, 'whole', `${name}: ${end}`)
  }
}
