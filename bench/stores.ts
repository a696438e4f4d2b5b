/**
 * `npm run bench:stores`: compares the gateway on SQLite and on PostgreSQL, and one, two and three processes on one
 * PostgreSQL. Only the ratios of one run are meaningful, since everything, including the database, shares this machine.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { createSchema } from '../test/support/http/schemas.ts'
import { startPostgres } from '../test/support/process/postgres-server.ts'
import { configOf } from './bench-config.ts'
import { type Measured, saturate, type Target, type Work } from './load.ts'
import { start } from './processes.ts'

const WORK: Work = { model: 'json', stream: false }
const SECONDS = 4
const WARM_SECONDS = 4
const ROUNDS = 3
const PROCESSES = [1, 2, 3]

const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'))

function startOn(upstreamPort: number, databaseUrl: string | undefined): Promise<Gateway> {
  const stores =
    databaseUrl === undefined
      ? {}
      : { DATABASE_URL: databaseUrl, TURNPIKE_SECRET: 'a secret of the bench only, 32 bytes' }
  return startGateway({
    config: configOf(upstreamPort, ['json']),
    env: { LOG_LEVEL: 'info', ...stores },
    args: databaseUrl === undefined ? [] : ['--migrate'],
    logFile: join(folder, 'gateway.log'),
  })
}

async function targetOf(name: string, { port, pid, key }: Gateway): Promise<Target> {
  return { name, port, pid, key: await key() }
}

function report(name: string, rounds: readonly Measured[]): void {
  const mean = (of: (measured: Measured) => number): string =>
    (rounds.reduce((sum, round) => sum + of(round), 0) / rounds.length).toFixed(1)
  const cpu = mean(({ cpuUs, requests }) => cpuUs / requests)
  console.log(
    `${name.padEnd(32)} ${cpu.padStart(8)} µs CPU a request ${mean(({ perSecond }) => perSecond).padStart(9)} a second` +
      `   p50 ${mean(({ p50Ms }) => p50Ms).padStart(6)} ms   p99 ${mean(({ p99Ms }) => p99Ms).padStart(6)} ms`,
  )
}

/** Alternates between both, so that the noise of the machine affects both. */
async function compareStores(targets: readonly Target[]): Promise<void> {
  for (const inFlight of [64, 1]) {
    for (const target of targets) await saturate(target, WORK, { inFlight, seconds: WARM_SECONDS })
    const rounds = new Map(targets.map((target) => [target, [] as Measured[]]))
    for (let round = 0; round < ROUNDS; round++) {
      for (const [target, measured] of rounds)
        measured.push(await saturate(target, WORK, { inFlight, seconds: SECONDS }))
    }
    for (const [{ name }, measured] of rounds) report(`${name}, ${inFlight} in flight`, measured)
  }
}

async function compareProcesses(targets: readonly Target[]): Promise<void> {
  for (const count of PROCESSES) {
    const load = { inFlight: Math.ceil(96 / count), seconds: SECONDS }
    const run = () => Promise.all(targets.slice(0, count).map((target) => saturate(target, WORK, load)))
    await run()
    const parts = await run()
    const sum = (of: (measured: Measured) => number): number => parts.reduce((total, part) => total + of(part), 0)
    const p50Ms = sum((part) => part.p50Ms) / count
    const p99Ms = Math.max(...parts.map((part) => part.p99Ms))
    const perSecond = sum((part) => part.perSecond)
    report(`${count} on one PostgreSQL`, [
      { requests: sum(({ requests }) => requests), cpuUs: sum(({ cpuUs }) => cpuUs), perSecond, p50Ms, p99Ms },
    ])
  }
}

const upstream = await start('upstream.ts')
const postgres = await startPostgres()
const schema = await createSchema(postgres.url)
const gateways: Gateway[] = []
try {
  gateways.push(await startOn(upstream.port, undefined))
  for (const _ of PROCESSES) gateways.push(await startOn(upstream.port, schema.url))
  const targets = await Promise.all(
    gateways.map((each, index) => targetOf(index === 0 ? 'SQLite' : 'PostgreSQL', each)),
  )
  await compareStores(targets.slice(0, 2))
  await compareProcesses(targets.slice(1))
} finally {
  for (const gateway of gateways) await gateway.stop()
  await postgres.stop()
  upstream.stop()
}
process.exit()
