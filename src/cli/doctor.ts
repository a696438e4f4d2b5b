import { once } from 'node:events'
import { constants, existsSync } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { styleText } from 'node:util'
import type { Kysely } from 'kysely'
import { CATALOGUE } from '../../catalogue/index.ts'
import type { Merged } from '../app/stored-settings.ts'
import type { Config, ProviderConfig } from '../config/schema.ts'
import { secretPath } from '../config/secret.ts'
import type { OpenOptions } from '../db/database.ts'
import { databaseLocation } from '../db/open.ts'
import type { Database } from '../db/schema/schema.ts'
import { endingPrices, priceEndText } from '../domain/model.ts'
import type { ProviderProbe } from '../domain/provider-status.ts'
import { checkRedis } from '../features/limits/redis.ts'
import { buildModelBook } from '../features/models/book.ts'
import {
  currentProblem,
  failureName,
  healthOfCalls,
  isRefused,
  type RecentCalls,
  recentCalls,
} from '../features/providers/recent-calls.ts'
import { probeProvider } from '../gateway/upstream/probe.ts'
import { readCertificate } from '../http/listener.ts'
import { resolveProvider } from '../providers/index.ts'
import { checkGit, testGitJail } from '../runner/git/self-test.ts'
import { gitSettings } from '../runner/git/settings.ts'
import { selfTest } from '../runner/sandbox/self-test.ts'
import { loadCliConfig, unusedHint, unusedProviders } from './configuration.ts'
import { grouped, type JsonOption, jsonLine, progress } from './output.ts'

/** `turnpike doctor`: runs every check and suggests fixes; changes nothing. Exit code 1 if a check fails. */
export async function doctor({ json = false }: JsonOption): Promise<void> {
  progress('Checking this machine, the database and the providers…')
  const checks = await examine(() => loadCliConfig())
  const ok = checks.every((check) => check.ok)
  process.stdout.write(json ? jsonLine({ ok, checks }) : checks.map(renderCheck).join(''))
  if (!ok) process.exitCode = 1
}

/** @param load Rejects with `ConfigError` if the configuration is invalid; checks that depend on it are then skipped. */
export async function examine(load: () => Promise<Config>): Promise<readonly Check[]> {
  const config = await load().catch((error: unknown) => messageOf(error))
  const independent = { node: checkNode(process.versions.node), clock: checkClock() }
  if (typeof config === 'string') {
    const fix = 'Fix the settings above; docs/configuration.md lists every setting.'
    const unknown = ['data_directory', 'database', 'redis', 'port', 'providers', 'agents', 'prices'].map((name) =>
      failed(name, 'skipped, because the configuration is invalid', 'Fix the configuration first.'),
    )
    return [independent.node, failed('configuration', config, fix), ...unknown, independent.clock]
  }
  const configuration = await checkConfiguration(config)
  const dependent = await Promise.all([
    checkDataDirectory(config.data_dir),
    checkDatabase(config),
    checkSharedLimits(config.redis_url),
    checkPort(config.server),
    checkProviders(config),
    checkAgents(config),
    checkPrices(config),
    ...(config.exports.length === 0 ? [] : [checkExports(config)]),
  ])
  return [independent.node, configuration, ...dependent, independent.clock]
}

const OTHERS_MAY_READ = 0o044

/** Says how many settings the file and the environment set; `turnpike config explain` has each of them. */
async function checkConfiguration({ file, origins, server: { tls } }: Config): Promise<Check> {
  const name = 'configuration'
  try {
    if (tls !== undefined) readCertificate(tls)
  } catch (error) {
    return failed(name, messageOf(error), 'Set server.tls to a certificate and its key, readable for this user.')
  }
  const all = Object.values(origins)
  const outside = all.filter((origin) => /^(environment|\.env): /.test(origin)).length
  const source = file ?? 'no file; environment and defaults'
  const counts = `${grouped(all.length - outside)} settings of the file, ${grouped(outside)} of the environment`
  if (all.length === 0) return passed(name, source)
  const hasSecrets = Object.keys(origins).some((path) =>
    /(^|[._])(secret|api_keys?|client_secret|database_url)$/.test(path),
  )
  const mode = file === undefined ? 0 : (await stat(file)).mode
  const isExposed = hasSecrets && all.length > outside && (mode & OTHERS_MAY_READ) !== 0
  const warning = isExposed ? '; other users of this machine can read the file: chmod 600' : ''
  return passed(name, `${source}; ${counts} (turnpike config explain)${warning}`)
}

function renderCheck({ ok, name, message, fix }: Check): string {
  const mark = styleText(ok ? 'green' : 'red', ok ? '✓' : '✗', { stream: process.stdout })
  const text = message.replaceAll('\n', '\n    ')
  return `${mark} ${name}: ${text}\n${fix === null ? '' : `  → ${fix}\n`}`
}

/** One line of the report. `fix` is null if there is nothing to fix. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly message: string
  readonly fix: string | null
}

const OLDEST_NODE_MAJOR = 24
const LEAST_FREE_BYTES = 256 * 1024 * 1024
const MEBIBYTE = 1024 * 1024
const REDIS_TIMEOUT_MS = 5_000
const EARLIEST_YEAR = 2026
const LATEST_YEAR = 2100

export function passed(name: string, message: string): Check {
  return { name, ok: true, message, fix: null }
}

export function failed(name: string, message: string, fix: string): Check {
  return { name, ok: false, message, fix }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** @param version As in `process.versions.node`. */
export function checkNode(version: string): Check {
  if (Number.parseInt(version, 10) >= OLDEST_NODE_MAJOR) return passed('node', version)
  return failed(
    'node',
    `${version}, but ${OLDEST_NODE_MAJOR} or newer is needed`,
    'Run `npm ci` in the clone, or install a newer Node.js.',
  )
}

/** @param now Unix milliseconds; `clock` monotonic milliseconds. */
export function checkClock(now: () => number = Date.now, clock: () => number = () => performance.now()): Check {
  const year = new Date(now()).getUTCFullYear()
  const fix = 'Set the clock of this machine and synchronize it with NTP.'
  if (year < EARLIEST_YEAR || year > LATEST_YEAR) return failed('clock', `the year is ${year}`, fix)
  const readings = Array.from({ length: 100 }, clock)
  const isMonotonic = readings.every((reading, index) => reading >= (readings[index - 1] ?? reading))
  if (!isMonotonic) return failed('clock', 'the monotonic clock runs backwards', 'Restart this machine.')
  return passed('clock', new Date(now()).toISOString())
}

async function checkDataDirectory(folder: string): Promise<Check> {
  const name = 'data_directory'
  const fix = `Make ${folder} writable for this user, or set TURNPIKE_DATA_DIR.`
  try {
    const nearest = nearestExisting(folder)
    if (!(await stat(nearest)).isDirectory()) return failed(name, `${nearest} is not a folder`, fix)
    await access(nearest, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = await statfs(nearest)
    const free = `${grouped(Math.floor((bavail * bsize) / MEBIBYTE))} MiB free`
    if (bavail * bsize < LEAST_FREE_BYTES) return failed(name, `${folder}: only ${free}`, 'Free disk space.')
    return passed(name, `${folder}: ${nearest === folder ? 'writable' : 'will be created on first start'}, ${free}`)
  } catch (error) {
    return failed(name, `${folder}: ${messageOf(error)}`, fix)
  }
}

async function checkSharedLimits(url: string | undefined): Promise<Check> {
  const name = 'redis'
  if (url === undefined) return passed(name, 'not configured: each process counts rate limits by itself')
  try {
    await checkRedis(url, REDIS_TIMEOUT_MS)
    return passed(name, 'REDIS_URL: reachable, executes scripts')
  } catch (error) {
    return failed(name, `REDIS_URL: ${messageOf(error)}`, 'Check that the server runs, and that REDIS_URL is correct.')
  }
}

async function checkDatabase(config: Config): Promise<Check> {
  const name = 'database'
  const location = databaseLocation(config)
  if ('path' in location && !existsSync(location.path))
    return passed(name, `${location.path}: will be created on first start`)
  const what = 'path' in location ? location.path : 'DATABASE_URL'
  try {
    const pending = await pendingAt(location)
    if (pending.length === 0) return passed(name, `${what}: reachable, schema current`)
    const start = 'path' in location ? 'start the gateway' : 'start the gateway with `--migrate`'
    return failed(name, `${what}: the schema lacks ${pending.join(', ')}`, `Run \`turnpike migrate\`, or ${start}.`)
  } catch (error) {
    if ('path' in location)
      return failed(name, `${what}: ${messageOf(error)}`, 'Check who owns the file, or restore a backup.')
    return failed(name, messageOf(error), 'Fix the server, or set DATABASE_URL to another one.')
  }
}

async function pendingAt(location: OpenOptions): Promise<readonly string[]> {
  const [{ openDatabase }, { pendingMigrations }] = await Promise.all([
    import('../db/open.ts'),
    import('../db/migrate.ts'),
  ])
  const database = await openDatabase(location)
  try {
    await database.ping()
    return await pendingMigrations(database.db)
  } finally {
    await database.close()
  }
}

function nearestExisting(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestExisting(dirname(folder))
}

const LONGEST_WAIT_MS = 3_000

async function checkPort({ host, port }: Config['server']): Promise<Check> {
  const name = 'port'
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const code = await failureToListen(host, port)
  if (code === undefined) return passed(name, `${address}: free`)
  if (code !== 'EADDRINUSE') {
    const fix = code === 'EACCES' ? 'Choose a port above 1023.' : 'Set HOST to an address of this machine.'
    return failed(name, `${address}: cannot listen (${code})`, fix)
  }
  if (await isTurnpike(address)) return passed(name, `${address}: in use by a running Turnpike`)
  return failed(name, `${address}: in use by another program`, 'Stop that program, or set PORT to another port.')
}

/**
 * Checks for each provider that it has a key, responds, and accepts the key, now and in the calls of the last 24 hours.
 * Mentions those that no model is routed to; that does not fail the check.
 */
export async function checkProviders(config: Config): Promise<Check> {
  const name = 'providers'
  const recent = await withDatabase(config, (db) => recentCalls(db, Date.now()))
  const results = await Promise.all(
    Object.entries(config.providers).map(async ([id, provider]) =>
      withRecent(await examineProvider(id, provider), recent?.get(id)),
    ),
  )
  if (results.length === 0) return passed(name, 'none configured; only the built-in simulator is available')
  const message = results.map(({ id, state }) => `${id}: ${state}`).join('\n')
  const fixes = results.flatMap(({ fix }) => (fix === undefined ? [] : [fix]))
  const {
    config: { models },
    catalogue,
  } = (await storedAt(config, Date.now)) ?? { config, catalogue: CATALOGUE }
  const hints = unusedProviders({ providers: config.providers, models }, catalogue).map(unusedHint)
  const text = [...fixes, ...hints].join(' ')
  return fixes.length > 0 ? failed(name, message, text) : { ...passed(name, message), fix: text || null }
}

interface ProviderResult {
  readonly id: string
  readonly state: string
  /** Undefined when nothing is wrong. */
  readonly fix?: string
}

/** Adds the health by the calls of the last 24 hours, as `GET /v1/admin/providers` and the dashboard have it. */
function withRecent(result: ProviderResult, recent: RecentCalls | undefined): ProviderResult {
  if (recent === undefined) return result
  const { calls, failures } = recent
  const counts = `${grouped(calls)} calls, ${grouped(failures)} failed`
  const state = `${result.state}; last 24 hours: ${healthOfCalls(recent)}, ${counts}${lastFailureText(recent)}`
  if (!isRefused(recent) || result.fix !== undefined) return { ...result, state }
  return { ...result, state, fix: `Check the key and the account of the provider ${result.id}.` }
}

/** `; last call: Key refused (401), 2026-11-29T20:00:00.000Z`; `last failure` if a call was answered since. */
function lastFailureText(recent: RecentCalls): string {
  const { lastFailure } = recent
  if (lastFailure === undefined) return ''
  const which = currentProblem(recent) === undefined ? 'last failure' : 'last call'
  return `; ${which}: ${failureName(lastFailure)}, ${new Date(lastFailure.at).toISOString()}`
}

async function examineProvider(id: string, config: ProviderConfig): Promise<ProviderResult> {
  try {
    const resolved = resolveProvider(id, config)
    return describe(id, await probeProvider(resolved, LONGEST_WAIT_MS))
  } catch (error) {
    return unreachable(id, messageOf(error))
  }
}

/** Any response proves that the provider is reachable; a rejected credential and server errors fail the check. */
function describe(id: string, probe: ProviderProbe): ProviderResult {
  switch (probe.kind) {
    case 'built_in':
      return { id, state: 'built in' }
    case 'no_key':
      return { id, state: 'no key', fix: `Set ${probe.variable}, or providers.${id}.api_key.` }
    case 'no_credential':
      return { id, state: 'no credential', fix: `Check the credential settings of the provider ${id}.` }
    case 'answered':
      return { id, state: 'reachable' }
    case 'refused':
      return { id, state: `unauthorised (${probe.status})`, fix: `Check the key of the provider ${id}.` }
    case 'limited':
      return {
        id,
        state: `limits requests (${probe.status})`,
        fix: `Wait, or raise the rate limits at the provider ${id}.`,
      }
    case 'failing':
      return { id, state: `fails (${probe.status})`, fix: `Check the status page of the provider ${id}.` }
    case 'silent':
      return unreachable(id, `no answer within ${LONGEST_WAIT_MS / 1000} s`)
    case 'unreachable':
      return unreachable(id, probe.reason)
  }
}

function unreachable(id: string, reason: string): ProviderResult {
  return { id, state: `unreachable (${reason})`, fix: `Check providers.${id}.base_url and the network connection.` }
}

async function failureToListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  try {
    server.listen({ host, port, exclusive: true })
    await once(server, 'listening')
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
  } finally {
    server.close()
  }
}

async function isTurnpike(address: string): Promise<boolean> {
  try {
    const { request } = await import('undici')
    const response = await request(`http://${address.replace(/^(0\.0\.0\.0|\[::\]):/, 'localhost:')}/openapi.json`, {
      signal: AbortSignal.timeout(LONGEST_WAIT_MS),
    })
    const document = (await response.body.json()) as { readonly info?: { readonly title?: unknown } } | null
    return document?.info?.title === 'Turnpike'
  } catch {
    return false
  }
}

const GIT_WITHIN_MS = 10_000

async function checkAgents({ agents, data_dir }: Pick<Config, 'agents' | 'data_dir'>): Promise<Check> {
  const name = 'agents'
  const { backend } = agents.sandbox
  const settings = gitSettings()
  const git = await checkGit(settings, AbortSignal.timeout(GIT_WITHIN_MS))
  if (!git.ok) return failed(name, `off: ${git.reason}`, `${capitalised(git.fix)}.`)
  if (backend === 'none') {
    const message = 'THEY RUN WITHOUT A SANDBOX: commands of models and repositories have all rights of the gateway'
    return failed(
      name,
      message,
      'Set agents.sandbox.backend to bubblewrap, unless this machine is discarded after each run.',
    )
  }
  const sandbox = await selfTest()
  const result = sandbox.ok ? await testGitJail(settings, { secrets: [secretPath(data_dir)] }) : sandbox
  if (!result.ok) return failed(name, `off: the sandbox failed its self-test: ${result.reason}`, result.fix)
  return passed(name, `git ${git.version}, sandbox works`)
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const FIX = 'Set `pricing`, or its `successors`, for them under `models` in the configuration file; see docs/prices.md.'

/** Warns of models whose price expires within a week, whoever set it; the check passes. @param now Unix milliseconds. */
async function checkPrices(file: Config, now: () => number = Date.now): Promise<Check> {
  try {
    const { config, catalogue } = (await storedAt(file, now)) ?? { config: file, catalogue: CATALOGUE }
    const { models, providers, virtual_models: virtualModels } = config
    const names = new Set(Object.keys(providers))
    const book = buildModelBook({ catalogue, models, virtualModels, providers: names, now })
    const ends = endingPrices(book.all, now())
    if (ends.length === 0) return passed('prices', 'none expires within a week')
    return { ...passed('prices', ends.map(priceEndText).join('; ')), fix: FIX }
  } catch (error) {
    return failed('prices', messageOf(error), FIX)
  }
}

/** Says of each export how the last run of the gateway ended. */
async function checkExports(config: Config): Promise<Check> {
  const rows = await withDatabase(config, (db) =>
    db.selectFrom('analytics_export').select(['name', 'exported_until', 'failure']).execute(),
  )
  const states = config.exports.map(({ name }) => {
    const row = rows?.find((each) => each.name === name)
    if (row === undefined) return { ok: true, text: `${name}: not run yet` }
    const until = `exported until ${new Date(row.exported_until).toISOString()}`
    return { ok: row.failure === null, text: `${name}: ${until}${row.failure === null ? '' : `; ${row.failure}`}` }
  })
  const message = states.map(({ text }) => text).join('\n')
  if (states.every(({ ok }) => ok)) return passed('exports', message)
  return failed('exports', message, 'Check address, region and access key of the export; see docs/exports.md.')
}

/** The configuration with the settings of the database; undefined without a readable database. */
function storedAt(file: Config, now: () => number): Promise<Merged | undefined> {
  return withDatabase(file, async (db) => {
    const { readMerged } = await import('../app/stored-settings.ts')
    return await readMerged(db, file, now())
  })
}

/** Reads a database with the current schema; undefined without one, which is another check's concern. */
async function withDatabase<T>(config: Config, read: (db: Kysely<Database>) => Promise<T>): Promise<T | undefined> {
  const location = databaseLocation(config)
  if ('path' in location && !existsSync(location.path)) return undefined
  const [{ openDatabase }, { pendingMigrations }] = await Promise.all([
    import('../db/open.ts'),
    import('../db/migrate.ts'),
  ])
  const database = await openDatabase(location).catch(() => undefined)
  if (database === undefined) return undefined
  try {
    const pending = await pendingMigrations(database.db).catch(() => ['unreadable'])
    return pending.length > 0 ? undefined : await read(database.db)
  } finally {
    await database.close()
  }
}
