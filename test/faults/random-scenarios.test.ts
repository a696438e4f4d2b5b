/**
 * Hundreds of requests, each with its own provider script and client, so it is slow: in batches side by side, some of which
 * a SIGKILL of the gateway ends. `SEED` replays a run, `SCENARIO` one request of it, `COUNT=2000` makes it long.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, send } from '../support/client.ts'
import { dialect } from '../support/database.ts'
import { type Gateway, model, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { type FakeUpstream, startFakeUpstream } from './kit/fake-upstream.ts'
import { failure } from './kit/openai-script.ts'
import { FIRST_EVENT_MS, IDLE_MS, MODELS, type Scenario, scenarioOf, seeded } from './kit/scenario.ts'
import { MAX_TOKENS, playClient, type View } from './kit/scenario-client.ts'

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const ONLY = process.env['SCENARIO']
/** With a kill on each database. Each run has a seed of its own, so that what one misses another finds. */
const COUNT = Number(process.env['COUNT'] ?? (dialect === 'postgres' ? 200 : 400))
const BATCH = 50
/** Of four batches, the last is killed. */
const KILL_EVERY = 4
const SWEPT_WITHIN_MS = 180_000
const CALM_WITHIN_MS = 90_000
/** By how many tokens an estimate may differ from what was delivered (INV-7). */
const NEAR_TOKENS = 20

interface Played {
  readonly scenario: Scenario
  readonly view: View
  /** The gateway was killed while it ran. */
  readonly killed: boolean
}

interface Stage {
  readonly provider: FakeUpstream
  readonly config: object
  readonly dataDir: string
  readonly key: string
  readonly account: string
  readonly scenarios: Map<string, Scenario>
}

test(`F1-F11, F16: ${COUNT} random scenarios (seed ${SEED})`, async (t) => {
  const { stage, gateway: first } = await setUp()
  const random = seeded(SEED)
  const played: Played[] = []
  let gateway = first
  t.after(async () => {
    await stage.provider.close()
    await gateway.stop()
    if (gateway !== first) await first.stop()
  })
  let restBefore: Rest | undefined
  for (const [number, batch] of batches().entries()) {
    const kills = number % KILL_EVERY === KILL_EVERY - 1
    const killing = kills ? killAfter(gateway, random() * 400) : undefined
    played.push(...(await playBatch(stage, gateway, { batch, killed: kills })))
    await killing
    if (kills) gateway = await startGateway({ config: stage.config, dataDir: stage.dataDir })
    else restBefore = await assertNothingLeaks(gateway, stage.provider, restBefore)
    if (kills) restBefore = undefined
  }
  const credit = await creditAtRest(gateway, stage, SWEPT_WITHIN_MS)
  const rows = await everyRow<UsageRow>(gateway, stage.key, '/v1/usage/completions')
  const faults = played.flatMap((each) => faultsOf(each, stage.provider, rows))
  print(played, rows)
  assert.deepEqual(faults, [], `SEED=${SEED}`)
  assert.equal(credit.held_usd, 0)
  const { ok, ...sums } = await reconcile(gateway, stage.key)
  assert.ok(ok, JSON.stringify(sums))
  assert.doesNotMatch(gateway.output(), /MaxListenersExceeded|unhandled/i)
})

function batches(): readonly (readonly number[])[] {
  if (ONLY !== undefined) return [[Number(ONLY)]]
  return Array.from({ length: COUNT / BATCH }, (_, batch) =>
    Array.from({ length: BATCH }, (_, place) => batch * BATCH + place),
  )
}

async function setUp() {
  const scenarios = new Map<string, Scenario>()
  const calls = new Map<string, number>()
  const provider = await startFakeUpstream(({ prompt }) => {
    const made = calls.get(prompt) ?? 0
    calls.set(prompt, made + 1)
    const scripts = scenarios.get(prompt)?.calls ?? []
    return scripts[Math.min(made, scripts.length - 1)]?.script ?? failure(404)
  })
  const up = {
    protocol: 'openai',
    base_url: `${provider.url}/v1`,
    api_keys: ['sk-one', 'sk-two'],
    timeout_ms: { connect: 1_000, first_byte: FIRST_EVENT_MS, idle: IDLE_MS, total: 10_000 },
  }
  const config = {
    providers: { up, spare: up },
    models: Array.from({ length: MODELS }, (_, index) => ({
      ...model(`m${index}`, 'up', `up-${index}`),
      deployments: [
        { provider: 'up', model: `up-${index}` },
        { provider: 'spare', model: `up-${index}`, priority: 1 },
      ],
    })),
    plans: { wide: { requests_per_minute: 1_000_000, max_in_flight: 5_000 } },
    streams: { grace_ms: 2_000 },
  }
  const gateway = await startGateway({ config })
  const account = await gateway.cli('accounts', 'create', '--name', 'random', '--plan', 'wide')
  await gateway.cli('credits', 'grant', '--account', account, '--usd', '1000')
  const key = await gateway.key('--account', account)
  const stage: Stage = { provider, config, dataDir: gateway.dataDir, key, account, scenarios }
  return { stage, gateway }
}

async function playBatch(
  { scenarios, key }: Stage,
  gateway: Gateway,
  { batch, killed }: { readonly batch: readonly number[]; readonly killed: boolean },
): Promise<Played[]> {
  const server = { port: gateway.port, key }
  return Promise.all(
    batch.map(async (index) => {
      const scenario = scenarioOf(SEED, index)
      scenarios.set(scenario.name, scenario)
      await sleep((index % BATCH) * 5)
      return { scenario, view: await playClient(server, scenario), killed }
    }),
  )
}

async function killAfter(gateway: Gateway, ms: number): Promise<void> {
  await sleep(ms)
  gateway.signal('SIGKILL')
  await gateway.exited
}

/** What a process has of the machine when it has nothing to do. */
interface Rest {
  readonly files: number
  readonly timers: number
}

/** Files and timers beyond those of connections to the provider, which are kept for a while. */
async function assertNothingLeaks(gateway: Gateway, provider: FakeUpstream, before: Rest | undefined): Promise<Rest> {
  const active = await eventually(
    () => metric(gateway, 'turnpike_active_completions'),
    (value) => value === 0,
    CALM_WITHIN_MS,
  )
  assert.equal(active, 0, 'nothing is under way')
  const look = async (): Promise<Rest> => ({
    files: readdirSync(`/proc/${gateway.pid}/fd`).length - provider.connections().open,
    timers: await metric(gateway, 'nodejs_active_resources{type="Timeout"}'),
  })
  const isCalm = ({ files, timers }: Rest): boolean =>
    before === undefined || (files <= before.files + 6 && timers <= before.timers + 6)
  // What later looks are held against must not be read half way, where a connection is gone on one side alone.
  let last: Rest | undefined
  const isStill = (rest: Rest): boolean => {
    const same = rest.files === last?.files && rest.timers === last.timers
    last = rest
    return same
  }
  const rest = await eventually(look, before === undefined ? isStill : isCalm, CALM_WITHIN_MS)
  assert.ok(isCalm(rest), `left behind: ${JSON.stringify({ before, rest })}`)
  return before ?? rest
}

async function metric(gateway: Gateway, name: string): Promise<number> {
  const { text } = await send(gateway, '/metrics', { fresh: true })
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return line === undefined ? 0 : Number(line.slice(name.length + 1))
}

/** What the client saw, what the provider generated and what the ledger says must be one story. */
function faultsOf({ scenario, view, killed }: Played, provider: FakeUpstream, all: readonly UsageRow[]): string[] {
  const rows = all.filter(({ client_request_id: name }) => name === scenario.name)
  const bill = provider.bills.get(scenario.name)
  const paid = rows.filter(({ cost_usd: usd }) => usd > 0)
  const row = paid[0] ?? rows[0]
  const cost = row?.cost_usd ?? 0
  const faults = [...view.faults]
  // A request that failed and was free may be asked again.
  const asked = scenario.client.does === 'resume' ? 2 : 1
  if (paid.length > 1 || (rows.length > asked && !killed)) faults.push(`${rows.length} usage rows, ${paid.length} paid`)
  if (cost > 0 && bill === undefined && view.ending !== 'left' && !killed) faults.push('charged for nothing')
  switch (view.ending) {
    case 'whole':
      if (row?.status !== 'completed' && !killed) faults.push(`whole, and its row says ${row?.status}`)
      if (row?.completion_tokens !== view.usage?.completion_tokens) faults.push('the row counts other tokens')
      if (row !== undefined && view.usage?.cost !== cost) faults.push(`the row costs ${cost}, not ${view.usage?.cost}`)
      break
    case 'refused':
      if (cost > 0 && view.code !== 'idempotency_outcome_unknown') faults.push(`refused, and charged ${cost}`)
      break
    case 'broken':
      if (row === undefined || row.status === 'completed') faults.push(`broken, and its row says ${row?.status}`)
      if (view.words > 0 && !isNear(row, view.words))
        faults.push(`${view.words} words, ${row?.completion_tokens} tokens`)
      break
    case 'left':
      if (view.words > 0 && cost === 0) faults.push('left after its first word, and free')
      if ((row?.completion_tokens ?? 0) > mostOf(scenario, bill?.completionTokens ?? 0) + NEAR_TOKENS && !killed) {
        faults.push(`left, and charged ${row?.completion_tokens} of ${bill?.completionTokens}`)
      }
      break
    case 'lost':
      if (!killed) faults.push(`the connection ended without a word, status ${view.status}`)
      break
  }
  if (bill !== undefined && row === undefined && view.ending !== 'refused') faults.push('generated, and not metered')
  const plan = `${scenario.calls.map(({ kind }) => kind).join(' → ')}; client ${JSON.stringify(scenario.client)}`
  return faults.map((fault) => `${scenario.name} (${plan}): ${fault}; ${JSON.stringify({ view, row, bill })}`)
}

/** A provider that lies is held against the limit that it was sent. */
function mostOf({ calls }: Scenario, billed: number): number {
  return calls.some(({ kind }) => kind === 'lying usage') ? Math.max(billed, MAX_TOKENS) : billed
}

function isNear(row: UsageRow | undefined, words: number): boolean {
  return row !== undefined && row.cost_usd > 0 && Math.abs(row.completion_tokens - words) <= NEAR_TOKENS
}

function print(played: readonly Played[], rows: readonly UsageRow[]): void {
  const endings = Object.groupBy(played, ({ view }) => view.ending)
  const line = Object.entries(endings).map(([ending, each]) => `${ending} ${each?.length}`)
  const kills = played.filter(({ killed }) => killed).length
  console.log(
    `random scenarios, seed ${SEED}: ${line.join(', ')}; ${kills} in killed batches; ${rows.length} usage rows`,
  )
}
