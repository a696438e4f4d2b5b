/**
 * A simulated month of business: a provider with its own bill and tariffs that may lie about usage, clients that stream,
 * leave, repeat and run out of credit, processes that are killed, and one that is cut off from PostgreSQL. In the end every
 * row is held against the provider's bill. `MINUTES=8` for a long run, which also waits for sweeps; `SEED` for its chances.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, getJson, send, untilActive } from '../support/client.ts'
import { dialect } from '../support/database.ts'
import { type Gateway, model, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, type LedgerRow, reconcile } from '../support/ledger/money.ts'
import { type BillingProvider, pricingOf, startBillingProvider, TARIFFS } from './kit/billing-provider.ts'
import { type FaultProxy, startFaultProxy } from './kit/fault-proxy.ts'
import { type Random, seeded } from './kit/scenario.ts'
import { type Asked, type Crowd, runClient, type SimulatedAccount, type Slot } from './kit/simulated-clients.ts'
import { type Judged, judge, lowestBalance, type SimulatedRow } from './kit/simulated-verdict.ts'

const MINUTES = Number(process.env['MINUTES'] ?? 0)
const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const IS_LONG = MINUTES > 0
const RUN_MS = IS_LONG ? MINUTES * 60_000 : 8_000
const CLIENTS = IS_LONG ? 10 : 6
const POOR_ACCOUNTS = IS_LONG ? 5 : 2
const RICH_USD = 10_000
const POOR_USD = 0.1
/** The default: the larger of this and 1 % of the allowance, of which there is none. */
const CAP_USD = 0.05
const KILL_EVERY_MS = IS_LONG ? 20_000 : 4_000
const CUT_EVERY_MS = IS_LONG ? 40_000 : 2_000
/** A lease lapses after 25 s, and others sweep after 30 s: some of the cuts are longer. */
const LONGEST_CUT_MS = IS_LONG ? 40_000 : 1_500
const SAMPLE_EVERY_MS = IS_LONG ? 1_000 : 250
const SWEPT_WITHIN_MS = 150_000
/** What ended last may still be on its way to the database. */
const SETTLED_WITHIN_MS = 60_000

interface Stage {
  readonly provider: BillingProvider
  readonly slots: readonly Slot[]
  readonly relay: FaultProxy | undefined
  readonly accounts: readonly SimulatedAccount[]
  readonly operator: string
  readonly revive: (slot: Slot) => Promise<void>
  readonly close: () => Promise<void>
}

/** What happened, and what was given. */
interface Chronicle {
  kills: number
  cuts: number
  samples: number
  lowestSampleUsd: number
  givenUsd: number
}

test(`INV-3, INV-10, LED-7: every charge is the provider's bill, or explained (seed ${SEED})`, async (t) => {
  const stage = await setUp()
  t.after(stage.close)
  const random = seeded(SEED)
  const asked: Asked[] = []
  const crowd: Crowd = { ...stage, random, asked }
  const chronicle: Chronicle = { kills: 0, cuts: 0, samples: 0, lowestSampleUsd: 0, givenUsd: 0 }
  const over = AbortSignal.timeout(RUN_MS)
  const load = Array.from({ length: CLIENTS }, () => runClient(crowd, over))
  const chaos = [kill, cut, sample, give].map((each) => each({ stage, chronicle, random, over }))
  await Promise.all([...load, ...chaos])
  const gateway = stage.slots[0]?.gateway as Gateway
  await assertAtRest(gateway, stage)
  const verdict = async (): Promise<Judged> => {
    const rows = await rowsOf<SimulatedRow>(gateway, stage, '/v1/usage/completions')
    return judge({ asked, rows, provider: stage.provider, mayBeHeld: !IS_LONG })
  }
  const isSettled = ({ differences: found }: Judged): boolean => found.length === 0
  const { differences, ...judged } = await eventually(verdict, isSettled, SETTLED_WITHIN_MS).catch(verdict)
  const ledger = await rowsOf<LedgerRow>(gateway, stage, '/v1/ledger')
  const lowestUsd = lowestBalance(ledger)
  const endings = Object.entries(Object.groupBy(asked, ({ ending }) => ending))
  const sums = {
    seed: SEED,
    requests: asked.length,
    ...Object.fromEntries(endings.map(([name, { length }]) => [name, length])),
  }
  console.log(
    `money simulator: ${JSON.stringify({ ...sums, calls: stage.provider.bills.size, ...chronicle, lowestUsd, ...judged, differences: differences.length })}`,
  )
  assert.deepEqual(differences.slice(0, 20), [], `${differences.length} differences, SEED=${SEED}`)
  assert.ok(judged.reasons.exact > 0 && chronicle.kills > 0, 'it was a test')
  assert.equal(judged.honest.charged, judged.honest.billed)
  assert.ok(lowestUsd >= -CAP_USD && chronicle.lowestSampleUsd >= -CAP_USD, `the balance was ${lowestUsd}`)
  const audit = await gateway.cli('ledger', 'audit', '--json') // rejects where it finds anything
  assert.match(audit, /"findings_count": ?0/)
})

async function setUp(): Promise<Stage> {
  const provider = await startBillingProvider()
  const config = {
    providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' } },
    models: Object.keys(TARIFFS).map((id) => ({ ...model(id, 'up', id), pricing: pricingOf(id) })),
    plans: { simulated: { requests_per_minute: 1_000_000, max_in_flight: 5_000 } },
    routing: { breaker: { failures: 1_000 } },
  }
  const first = await startGateway({ config })
  const isShared = dialect === 'postgres'
  const relay = isShared ? await startFaultProxy({ port: Number(new URL(first.database).port) }) : undefined
  const envOf = (index: number): Record<string, string> => {
    if (relay === undefined) return {}
    const url = new URL(first.database)
    if (index === 1) url.port = String(relay.port)
    return { DATABASE_URL: url.href }
  }
  const others = await Promise.all(
    Array.from({ length: isShared ? (IS_LONG ? 2 : 1) : 0 }, (_, index) =>
      startGateway({ config, env: envOf(index + 1) }),
    ),
  )
  const firsts = [first, ...others]
  const slots: Slot[] = firsts.map((gateway) => ({ gateway, deaths: [] }))
  const operator = await first.key('--operator')
  const accounts = await Promise.all(
    Array.from({ length: POOR_ACCOUNTS + 1 }, (_, index) => accountOf(first, operator, index === 0)),
  )
  return {
    provider,
    slots,
    relay,
    operator,
    accounts,
    async revive(slot) {
      const index = slots.indexOf(slot)
      const { dataDir } = firsts[index] as Gateway
      const start = () => startGateway({ config, dataDir, env: envOf(index) })
      // Cut off from its database, a process does not begin.
      while (slot.gateway === undefined) slot.gateway = await start().catch(() => undefined)
    },
    async close() {
      await relay?.up().catch(() => undefined)
      await Promise.all(slots.map(({ gateway }) => gateway?.stop()))
      await Promise.all([provider.close(), relay?.close()])
      for (const gateway of firsts.toReversed()) await gateway.stop()
    },
  }
}

async function accountOf(gateway: Gateway, operator: string, rich: boolean): Promise<SimulatedAccount> {
  const body = { name: rich ? 'rich' : 'poor', plan: 'simulated' }
  const made = await send(gateway, '/v1/admin/accounts', { key: operator, body })
  const { id } = JSON.parse(made.text) as { readonly id: string }
  await send(gateway, `/v1/admin/accounts/${id}/credits`, {
    key: operator,
    body: { kind: 'grant', usd: rich ? RICH_USD : POOR_USD },
  })
  return { id, rich, key: await gateway.key('--account', id) }
}

interface Chaos {
  readonly stage: Stage
  readonly chronicle: Chronicle
  readonly random: Random
  readonly over: AbortSignal
}

/** At any moment, one process after the other. */
async function kill({ stage, chronicle, random, over }: Chaos): Promise<void> {
  while (await goesOn(over, KILL_EVERY_MS * (0.5 + random()))) {
    const slot = stage.slots[Math.floor(random() * stage.slots.length)] as Slot
    const { gateway } = slot
    slot.gateway = undefined
    slot.deaths.push(performance.now())
    gateway?.signal('SIGKILL')
    await gateway?.exited
    chronicle.kills += 1
    await stage.revive(slot)
  }
}

/** The second process from PostgreSQL. */
async function cut({ stage: { relay }, chronicle, random, over }: Chaos): Promise<void> {
  if (relay === undefined) return
  while (await goesOn(over, CUT_EVERY_MS * (0.5 + random()))) {
    await relay.down()
    chronicle.cuts += 1
    await sleep(LONGEST_CUT_MS * random())
    await relay.up()
  }
}

async function sample({ stage: { slots, accounts }, chronicle, over }: Chaos): Promise<void> {
  while (await goesOn(over, SAMPLE_EVERY_MS)) {
    const gateway = slots[0]?.gateway
    if (gateway === undefined) continue
    for (const { key } of accounts) {
      const usage = await getJson<{ credit_remaining_usd: number }>(gateway, key, '/v1/usage').catch(() => undefined)
      if (usage === undefined) continue
      chronicle.samples += 1
      chronicle.lowestSampleUsd = Math.min(chronicle.lowestSampleUsd, usage.credit_remaining_usd)
    }
  }
}

/** Credit for those who have none: asked for until it is there, under one key. */
async function give({ stage: { slots, accounts, operator }, chronicle, random, over }: Chaos): Promise<void> {
  for (let index = 0; await goesOn(over, 1_000); index++) {
    const { id, rich } = accounts[index % accounts.length] as SimulatedAccount
    if (rich) continue
    const usd = Math.round(POOR_USD * random() * 1e6) / 1e6
    for (let status = 0; status !== 201; await sleep(200)) {
      const gateway = slots[Math.floor(random() * slots.length)]?.gateway
      if (gateway === undefined) continue
      const call = { key: operator, body: { kind: 'grant', usd }, headers: { 'idempotency-key': `grant-${index}` } }
      const answer = await send(gateway, `/v1/admin/accounts/${id}/credits`, { ...call, fresh: true }).catch(
        () => undefined,
      )
      status = answer?.status ?? 0
    }
    chronicle.givenUsd += usd
  }
}

async function goesOn(over: AbortSignal, waitMs: number): Promise<boolean> {
  await sleep(waitMs, undefined, { signal: over }).catch(() => undefined)
  return !over.aborted
}

/** Nothing is held any more where sweeps were waited for, and everything adds up. */
async function assertAtRest(gateway: Gateway, { accounts, slots }: Stage): Promise<void> {
  for (const each of slots) await untilActive(each.gateway as Gateway, 0)
  for (const account of accounts) {
    if (IS_LONG) await creditAtRest(gateway, { account: account.id, key: account.key }, SWEPT_WITHIN_MS)
    await eventually(
      () => reconcile(gateway, account.key),
      ({ ok }) => ok,
    )
  }
}

async function rowsOf<Row>(gateway: Gateway, { accounts }: Stage, path: string): Promise<Row[]> {
  const lists = await Promise.all(accounts.map(({ key }) => everyRow<Row>(gateway, key, path)))
  return lists.flat()
}
