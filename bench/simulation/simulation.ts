/**
 * `npm run bench:simulation`: measures the service times of the gateway on SQLite and on PostgreSQL, checks a model of it
 * against measurements that it has not seen, and predicts larger installations: what limits them, and from which rate on.
 * docs/scaling.md explains the result.
 *
 *   --plot FILE  writes a chart of the predictions, as SVG
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { textTable } from '../../src/lib/table.ts'
import { startGateway } from '../../test/support/gateway.ts'
import { createSchema } from '../../test/support/http/schemas.ts'
import { startPostgres } from '../../test/support/process/postgres-server.ts'
import { configOf } from '../bench-config.ts'
import { machineText } from '../machine.ts'
import { start } from '../processes.ts'
import { TURNPIKE_POSTGRES } from '../targets.ts'
import { type Calibration, calibrate } from './calibration.ts'
import { plotPredictions } from './plot.ts'
import { predict, SCENARIOS } from './predictions.ts'

// What is measured is what a clone runs.
execFileSync(process.execPath, [join(import.meta.dirname, '../../scripts/bundle.ts')], { stdio: ['ignore', 2, 2] })
const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'))
const upstream = await start('upstream.ts')
const postgres = await startPostgres()
const schema = await createSchema(postgres.url)

async function calibrateOn(databaseUrl: string | undefined): Promise<Calibration> {
  const shared = { DATABASE_URL: databaseUrl ?? '', TURNPIKE_SECRET: 'a secret of the bench only, 32 bytes' }
  const gateway = await startGateway({
    config: configOf(upstream.port, ['json']),
    env: { LOG_LEVEL: 'info', ...(databaseUrl === undefined ? {} : shared) },
    args: databaseUrl === undefined ? [] : ['--migrate'],
    logFile: join(folder, 'gateway.log'),
  })
  try {
    return await calibrate({
      target: { name: 'gateway', port: gateway.port, pid: gateway.pid, key: await gateway.key() },
      providerPid: upstream.pid,
      postgresPid: databaseUrl === undefined ? undefined : postgres.pid(),
      cores: availableParallelism(),
    })
  } finally {
    await gateway.stop()
  }
}

function report(name: string, { times, measured }: Calibration): void {
  console.log(`\n${name}: service times in µs`)
  console.log(
    textTable(
      ['time', 'µs'],
      Object.entries(times).map(([time, us]) => [time, us.toFixed(1)]),
    ),
  )
  console.log(`\n${name}: requests a second, measured and predicted`)
  console.log(
    textTable(
      ['in flight', 'measured', 'predicted', 'off by', 'main thread µs', 'database µs'],
      measured.map(({ inFlight, perSecond, predictedPerSecond, mainUs, databaseUs }) => [
        String(inFlight),
        perSecond.toFixed(0),
        predictedPerSecond.toFixed(0),
        `${((predictedPerSecond / perSecond - 1) * 100).toFixed(1)} %`,
        mainUs.toFixed(0),
        databaseUs.toFixed(0),
      ]),
    ),
  )
}

try {
  console.log(machineText([TURNPIKE_POSTGRES]))
  report('SQLite', await calibrateOn(undefined))
  const shared = await calibrateOn(schema.url)
  report('PostgreSQL', shared)
  const predictions = SCENARIOS.map((scenario) => predict(scenario, shared.times))
  console.log('\npredicted for a primary of 16 cores:')
  console.log(
    textTable(
      ['scenario', 'requests a second', 'processes', 'what ends first'],
      predictions.map(({ scenario, limit, first, processes }) => [
        scenario.name,
        limit.toFixed(0),
        String(processes),
        first,
      ]),
    ),
  )
  const file = process.argv[process.argv.indexOf('--plot') + 1]
  if (process.argv.includes('--plot') && file !== undefined) writeFileSync(file, plotPredictions(predictions))
} finally {
  await postgres.stop()
  upstream.stop()
}
process.exit()
