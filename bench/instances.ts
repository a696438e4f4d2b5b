/**
 * `npm run bench -- --instances`: one, two and three processes on one PostgreSQL. Only the ratios of one run are
 * meaningful, since everything, including the database, shares this machine.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { createSchema } from '../test/support/http/schemas.ts'
import { startPostgres } from '../test/support/process/postgres-server.ts'
import { configOf } from './bench-config.ts'
import { type Measured, saturate, type Target } from './load.ts'
import { start } from './processes.ts'

const SECONDS = 4
const INSTANCES = [1, 2, 3]
/** Over all instances. */
const IN_FLIGHT = 96

/** Has no budget. */
export async function benchInstances(): Promise<boolean> {
  const upstream = await start('upstream.ts')
  const postgres = await startPostgres()
  const { url } = await createSchema(postgres.url)
  const logFile = join(mkdtempSync(join(tmpdir(), 'turnpike-bench-')), 'gateways.log')
  const env = { LOG_LEVEL: 'info', DATABASE_URL: url, TURNPIKE_SECRET: 'a secret of the bench only, 32 bytes' }
  const gateways: Gateway[] = []
  try {
    for (const _ of INSTANCES) {
      gateways.push(await startGateway({ config: configOf(upstream.port), env, args: ['--migrate'], logFile }))
    }
    const targets = await Promise.all(
      gateways.map(async ({ port, pid, key }): Promise<Target> => ({ name: 'gateway', port, pid, key: await key() })),
    )
    for (const count of INSTANCES) report(count, await measureInstances(targets.slice(0, count)))
  } finally {
    for (const gateway of gateways) await gateway.stop()
    await postgres.stop()
    upstream.stop()
  }
  return true
}

async function measureInstances(targets: readonly Target[]): Promise<readonly Measured[]> {
  const load = { inFlight: Math.ceil(IN_FLIGHT / targets.length), seconds: SECONDS }
  const run = () => Promise.all(targets.map((target) => saturate(target, { model: 'json', stream: false }, load)))
  await run()
  return await run()
}

function report(count: number, parts: readonly Measured[]): void {
  const sum = (of: (measured: Measured) => number): number => parts.reduce((total, part) => total + of(part), 0)
  const cpuUs = sum((part) => part.cpuUs) / sum(({ requests }) => requests)
  const p99Ms = Math.max(...parts.map((part) => part.p99Ms))
  const perSecond = sum((part) => part.perSecond)
  console.log(
    `${count} on one PostgreSQL: ${cpuUs.toFixed(1)} µs CPU a request, ${perSecond.toFixed(0)} a second, p99 ${p99Ms} ms`,
  )
}
