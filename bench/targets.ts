/** What the bench compares: how each is started, and how long that takes. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGateway } from '../test/support/gateway.ts'
import { createSchema } from '../test/support/http/schemas.ts'
import type { PostgresServer } from '../test/support/process/postgres-server.ts'
import { configOf } from './bench-config.ts'
import type { Target } from './load.ts'
import { nginxVersion, startNginx } from './nginx.ts'
import { percentile, start } from './processes.ts'
import { FORWARDER, TURNPIKE } from './report.ts'

/** What is sent to targets that make no keys. */
export const ANY_KEY = 'sk-bench'
const TIMED_STARTS = 3
/** A target that takes longer is started only once. */
const LONG_START_MS = 5_000

export const TURNPIKE_POSTGRES = 'Turnpike PostgreSQL'

export interface Candidate {
  readonly name: string
  /** Resolves when it is ready. */
  readonly start: () => Promise<Started>
}

export interface Started {
  readonly pid: number
  readonly port: number
  /** Undefined: it takes `ANY_KEY`. */
  readonly key?: () => Promise<string>
  readonly headers?: Readonly<Record<string, string>>
  /** The main process of a database server that works for it alone. */
  readonly databasePid?: number
  readonly stop: () => unknown
}

export interface StartedTarget extends Target {
  readonly startMs: number
  readonly databasePid?: number
  readonly stop: () => unknown
}

/** Starts a candidate several times; the last one stays. `startMs` is the median. */
export async function startTimed({ name, start: begin }: Candidate): Promise<StartedTarget> {
  const times: number[] = []
  for (;;) {
    const startedAt = performance.now()
    const started = await begin()
    times.push(performance.now() - startedAt)
    if (times.length === TIMED_STARTS || (times[0] ?? 0) > LONG_START_MS) {
      const key = (await started.key?.()) ?? ANY_KEY
      return { ...started, name, key, startMs: percentile(times, 50) }
    }
    await started.stop()
  }
}

export interface CandidatesInput {
  readonly upstreamPort: number
  /** Undefined: PostgreSQL is not measured. */
  readonly postgres: PostgresServer | undefined
  /** Variables of Turnpike's environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** The forwarder and Turnpike, and nginx where it is installed. */
export function ownCandidates({ upstreamPort, postgres, env = {} }: CandidatesInput): readonly Candidate[] {
  const logFile = join(mkdtempSync(join(tmpdir(), 'turnpike-bench-')), 'gateways.log')
  const own = { config: configOf(upstreamPort), logFile, env: { LOG_LEVEL: 'info', ...env } }
  const startOnPostgres = async (server: PostgresServer): Promise<Started> => {
    const { url } = await createSchema(server.url)
    const stores = { DATABASE_URL: url, TURNPIKE_SECRET: 'a secret of the bench only, 32 bytes' }
    const gateway = await startGateway({ ...own, env: { ...own.env, ...stores }, args: ['--migrate'] })
    return { ...gateway, databasePid: server.pid() }
  }
  return [
    ...(nginxVersion() === undefined ? [] : [{ name: 'nginx', start: () => startNginx(upstreamPort) }]),
    { name: FORWARDER, start: () => start('forwarder.ts', String(upstreamPort)) },
    { name: TURNPIKE, start: () => startGateway(own) },
    ...(postgres === undefined ? [] : [{ name: TURNPIKE_POSTGRES, start: () => startOnPostgres(postgres) }]),
  ]
}
