/**
 * `npm run bench -- --webhooks`: measures webhook deliveries per second to 100 endpoints of one receiver on loopback, on
 * SQLite and on PostgreSQL, with durable commits; then the effect of a dead endpoint with 10 000 queued events on others.
 * Each event has its own transaction, as in production, and the worker runs in this process.
 *
 *   --quick    a quarter of the time
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenedDatabase, OpenOptions } from '../src/db/database.ts'
import type { AccountId, WebhookId } from '../src/domain/ids.ts'
import { createSchema } from '../test/support/http/schemas.ts'
import { startPostgres } from '../test/support/process/postgres-server.ts'
import { cpuMicroseconds, fsyncP99Ms, percentile } from './processes.ts'
import { printVerdicts, type Verdict } from './report.ts'
import { ACCOUNTS, addAccount, addEndpoint, crowd, DATA, ENDPOINTS, openStage, type Stage } from './webhook-stage.ts'

const quick = process.argv.includes('--quick')
const SECONDS = quick ? 5 : 20
const DELIVERIES_PER_SECOND = 1_000
/** Beside a crowd, or without one. */
const QUIET_EVENTS_PER_SECOND = 20
/** An odd number, since the median counts. */
const QUIET_ROUNDS = 3
const QUIET_SECONDS = 5
const CROWD = 10_000
/** Beside a hundred endpoints that take ten seconds for each of their ten attempts, a thousand connections at once. */
const CROWDED_P99_MS = 2_000
/** Maximum duration of a stream, relative to its nominal length. */
const LATE = 1.05

async function happens({ database, recordEvent, runner }: Stage, accountId: AccountId): Promise<void> {
  await database.db
    .transaction()
    .execute((inside) => recordEvent(inside, { accountId, type: 'webhook.test', data: DATA }))
  runner.wake()
}

interface Stream {
  readonly eventsPerSecond: number
  readonly seconds: number
}

/** Creates events of all accounts in turn at a fixed rate. @returns the number of deliveries. */
async function stream(stage: Stage, { eventsPerSecond, seconds }: Stream): Promise<number> {
  const startedAt = performance.now()
  const events: Promise<void>[] = []
  const count = eventsPerSecond * seconds
  while (events.length < count) {
    const due = Math.min(count, Math.ceil(((performance.now() - startedAt) / 1_000) * eventsPerSecond))
    while (events.length < due) {
      const accountId = stage.accounts[events.length % ACCOUNTS]
      if (accountId !== undefined) events.push(happens(stage, accountId))
    }
    await sleep(5)
  }
  await Promise.all(events)
  return count * ENDPOINTS
}

/** Waits for all events. @returns their delays. */
async function allArrived({ arrived }: Stage, count: number): Promise<readonly number[]> {
  const delays: number[] = []
  while (delays.length < count) {
    await sleep(50)
    delays.push(...(await arrived()))
  }
  return delays
}

const inWords = (delays: readonly number[]): string =>
  `event to arrival p50 ${percentile(delays, 50)} ms, p99 ${percentile(delays, 99)} ms`

async function measureStream(stage: Stage): Promise<Verdict> {
  await allArrived(stage, await stream(stage, { eventsPerSecond: 10, seconds: 3 })) // warm
  const cpuBefore = cpuMicroseconds(process.pid)
  const startedAt = performance.now()
  const eventsPerSecond = DELIVERIES_PER_SECOND / ENDPOINTS
  const count = await stream(stage, { eventsPerSecond, seconds: SECONDS })
  const delays = await allArrived(stage, count)
  const seconds = (performance.now() - startedAt) / 1_000
  const cpu = (cpuMicroseconds(process.pid) - cpuBefore) / count
  console.log(
    `${stage.name}: ${count} deliveries in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} a second; ` +
      `${inWords(delays)}; ${cpu.toFixed(0)} µs of CPU each`,
  )
  return { figure: `${stage.name}: seconds for those of ${SECONDS} s`, measured: seconds, budget: SECONDS * LATE }
}

/** Measures deliveries of a backlog per second, the throughput of the worker alone. */
async function measureBacklog(stage: Stage): Promise<void> {
  const { database, accounts, runner } = stage
  const endpoints = await database.db.selectFrom('webhook').select(['account_id', 'id']).execute()
  let count = 0
  for (const { account_id, id } of endpoints.filter((each) => accounts.includes(each.account_id))) {
    count += await crowd(database, { accountId: account_id, webhookId: id, count: CROWD / (ACCOUNTS * ENDPOINTS) })
  }
  const startedAt = performance.now()
  runner.wake()
  await allArrived(stage, count)
  const seconds = (performance.now() - startedAt) / 1_000
  console.log(
    `${stage.name}: a backlog of ${count} in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(0)} a second`,
  )
}

interface CrowdKind {
  readonly name: string
  readonly url: string
  /** Over which the events of the crowd are spread. */
  readonly endpoints: number
}

/** Arrival p99 of others, alternating without and with a crowd before endpoints that are dead. */
async function measureCrowd(stage: Stage, kind: CrowdKind): Promise<Verdict> {
  const p99s: { readonly alone: number[]; readonly beside: number[] } = { alone: [], beside: [] }
  const quiet = async (): Promise<number> => {
    const load = { eventsPerSecond: QUIET_EVENTS_PER_SECOND, seconds: QUIET_SECONDS }
    return percentile(await allArrived(stage, await stream(stage, load)), 99)
  }
  for (let round = 0; round < QUIET_ROUNDS; round++) {
    p99s.alone.push(await quiet())
    const webhookIds = await gather(stage, kind)
    p99s.beside.push(await quiet())
    const { failed, waiting } = await leftOf(stage.database, webhookIds)
    console.log(
      `${stage.name}, ${kind.name}: p99 ${p99s.alone.at(-1)} ms alone, ${p99s.beside.at(-1)} ms beside ${CROWD} events; ` +
        `${failed} attempts of them failed meanwhile, ${waiting} wait for their first`,
    )
    await disperse(stage, webhookIds)
  }
  const figure = `${stage.name}, ${kind.name}: others’ p99 beside`
  if (kind.endpoints > 1) {
    return { figure: `${figure} them, ms`, measured: percentile(p99s.beside, 50), budget: CROWDED_P99_MS }
  }
  const ratios = p99s.beside.map((beside, round) => beside / (p99s.alone[round] ?? 0))
  return { figure: `${figure} it, ×`, measured: percentile(ratios, 50), budget: 2 }
}

async function gather({ database, runner }: Stage, { url, endpoints }: CrowdKind): Promise<readonly WebhookId[]> {
  const accountId = await addAccount(database)
  const webhookIds: WebhookId[] = []
  for (let each = 0; each < endpoints; each++) webhookIds.push(await addEndpoint(database, accountId, url))
  for (const webhookId of webhookIds) await crowd(database, { accountId, webhookId, count: CROWD / endpoints })
  runner.wake()
  return webhookIds
}

/** Deletes the endpoints as the API does; running jobs then find nothing to do. */
async function disperse({ database: { db }, runner }: Stage, webhookIds: readonly WebhookId[]): Promise<void> {
  await db.deleteFrom('webhook').where('id', 'in', webhookIds).execute()
  await db
    .updateTable('job')
    .set({ ended_at: 1, outcome: 'done', ready: 0 })
    .where('lane', 'in', webhookIds)
    .where('owner', 'is', null)
    .where('ended_at', 'is', null)
    .execute()
  while (runner.running() > 0) await sleep(100)
}

async function leftOf({ db }: OpenedDatabase, webhookIds: readonly WebhookId[]) {
  const rows = await db.selectFrom('delivery').select('attempts').where('webhook_id', 'in', webhookIds).execute()
  const failed = rows.filter(({ attempts }) => attempts > 0).length
  return { failed, waiting: rows.length - failed }
}

/** @param mutePort Of a server that takes connections and never answers. */
function crowdKinds(mutePort: number): readonly CrowdKind[] {
  return [
    { name: 'one endpoint that never answers', url: `http://127.0.0.1:${mutePort}/`, endpoints: 1 },
    { name: 'a hundred that never answer', url: `http://127.0.0.1:${mutePort}/`, endpoints: 100 },
    { name: 'one endpoint that refuses', url: 'http://127.0.0.1:1/', endpoints: 1 },
  ]
}

async function measure(name: string, options: OpenOptions): Promise<readonly Verdict[]> {
  const { stage, close } = await openStage(name, options)
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo // it listens on a port
  try {
    const sustained = await measureStream(stage)
    await measureBacklog(stage)
    const verdicts = [sustained]
    for (const kind of crowdKinds(port)) verdicts.push(await measureCrowd(stage, kind))
    return verdicts
  } finally {
    silent.close()
    await close()
  }
}

/** @returns whether both databases sustain 1 000 deliveries per second, and dead endpoints do not delay others. */
export async function benchWebhooks(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-webhooks-'))
  console.log(`fsync of this disk p99 ${fsyncP99Ms().toFixed(1)} ms`)
  try {
    const verdicts: Verdict[] = []
    if (!process.argv.includes('--postgres')) {
      verdicts.push(...(await measure('SQLite', { path: join(folder, 'turnpike.db') })))
    }
    if (!process.argv.includes('--sqlite')) verdicts.push(...(await onPostgres()))
    return printVerdicts(verdicts)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function onPostgres(): Promise<readonly Verdict[]> {
  const postgres = await startPostgres()
  try {
    return await measure('PostgreSQL', { url: (await createSchema(postgres.url)).url })
  } finally {
    await postgres.stop()
  }
}
