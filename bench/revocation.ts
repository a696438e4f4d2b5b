/** KEY-4: measures how long another process accepts a revoked key, on SQLite and on PostgreSQL. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { send } from '../test/support/client.ts'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { createSchema } from '../test/support/http/schemas.ts'
import { startPostgres } from '../test/support/process/postgres-server.ts'
import { BUDGETS } from './budgets.ts'
import { percentile } from './processes.ts'
import { printVerdicts, type Verdict } from './report.ts'

const KEYS = 50
const LOOK_EVERY_MS = 5
/** The measurement of a key ends after this time. */
const LONGEST_MS = 10_000

interface Setup {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
}

async function revokedAfterMs(one: Gateway, other: Gateway, admin: string): Promise<number> {
  const made = await send(one, '/v1/keys', { key: admin, body: { name: 'to be revoked' } })
  const { id, key } = JSON.parse(made.text) as { readonly id: string; readonly key: string }
  const isTaken = async () => (await send(other, '/v1/models', { key })).status === 200
  if (!(await isTaken())) throw new Error('The other process does not accept the key.')
  const { status } = await send(one, `/v1/keys/${id}`, { key: admin, method: 'DELETE' })
  if (status !== 204) throw new Error(`The revocation failed with status ${status}.`)
  const revokedAt = performance.now()
  while (performance.now() - revokedAt < LONGEST_MS && (await isTaken())) await sleep(LOOK_EVERY_MS)
  return performance.now() - revokedAt
}

async function measure({ name, env }: Setup): Promise<Verdict> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-bench-revocation-'))
  const one = await startGateway({ dataDir, env, args: ['--migrate'] })
  const other = await startGateway({ dataDir, env })
  try {
    const admin = await one.key()
    const times: number[] = []
    for (let round = 0; round < KEYS; round++) times.push(await revokedAfterMs(one, other, admin))
    const [p50, most] = [percentile(times, 50), Math.max(...times)]
    console.log(`${name}: ${KEYS} keys, p50 ${p50.toFixed(0)} ms, longest ${most.toFixed(0)} ms`)
    return {
      figure: `another process rejects a revoked key, ${name}, ms`,
      measured: most,
      budget: BUDGETS.revokedMs,
    }
  } finally {
    await Promise.all([one.stop(), other.stop()])
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** @returns whether the budget holds on both. */
export async function benchRevocation(): Promise<boolean> {
  const verdicts = [await measure({ name: 'SQLite', env: {} })]
  const postgres = await startPostgres()
  try {
    const { url } = await createSchema(postgres.url)
    const env = { DATABASE_URL: url, TURNPIKE_SECRET: 'a public secret of the bench' }
    verdicts.push(await measure({ name: 'PostgreSQL', env }))
  } finally {
    await postgres.stop()
  }
  console.log('')
  return printVerdicts(verdicts)
}
