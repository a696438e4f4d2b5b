/** The real thing: a server process of its own, with its own port, data directory and configuration file. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { copyCurrentFile, createCurrentDatabase, type TestDatabase } from './current-databases.ts'
import type { WantedKey } from './identity/gateway-keys.ts'
import type { CommandResult } from './process/command-in-process.ts'
import { askCommandServer } from './process/command-server.ts'
import { dataRoot } from './process/data-root.ts'
import { freePort } from './process/free-port.ts'

const PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'turnpike.js')
const READY_WITHIN_MS = 180_000
const READY_POLL_MS = 40
const PORT_ATTEMPTS = 3

export interface GatewayOptions {
  /** The configuration file; JSON is YAML. */
  readonly config?: object
  readonly env?: Readonly<Record<string, string>>
  /** Of an earlier start, to go on with; it is then kept at `stop`. */
  readonly dataDir?: string
  /** A free one unless set. */
  readonly port?: number
  readonly args?: readonly string[]
  /** A command that becomes the process: `['prlimit', '--nofile=256']`. */
  readonly under?: readonly string[]
  /** Where what the process prints goes; without it, into `output`. */
  readonly logFile?: string
  /** `bin/turnpike.js` of another release; `cli` and `key` stay those of this one. */
  readonly program?: string
}

export interface Gateway {
  /** Without trailing slash. */
  readonly url: string
  readonly port: number
  readonly dataDir: string
  /** For `openLocation`. */
  readonly database: string
  readonly pid: number
  /** Everything the process has printed. */
  readonly output: () => string
  /** Ends the pipes that the process prints to. */
  readonly dropOutput: () => void
  /** Runs a command of `turnpike` on the same data, without a process of its own for each. */
  readonly cli: (...args: string[]) => Promise<string>
  /** Makes an API key; `flags` are those of `turnpike keys create`. */
  readonly key: (...flags: string[]) => Promise<string>
  /** Makes an account and a key of it, so that nothing else is on its usage. */
  readonly keyOfNewAccount: () => Promise<string>
  readonly signal: (name: NodeJS.Signals) => void
  /** Resolves with the exit code; null after a signal that killed it. */
  readonly exited: Promise<number | null>
  /** SIGTERM, wait, remove the data. Kills after 60 s. */
  readonly stop: () => Promise<number | null>
}

interface Launched {
  readonly child: ChildProcess
  readonly exited: Promise<number | null>
  readonly output: () => string
}

export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  // Sandboxes of agents run programs in the data directory, which memory need not allow.
  const root = options.config !== undefined && 'agents' in options.config ? tmpdir() : dataRoot
  const folder = mkdtempSync(join(root, 'turnpike-test-'))
  const dataDir = options.dataDir ?? join(folder, 'data')
  const configFile = join(folder, 'turnpike.yaml')
  writeFileSync(
    configFile,
    JSON.stringify(options.program === undefined ? withOpenMetrics(options.config ?? {}) : options.config),
  )
  const schema = await prepareDatabase(dataDir, options.program === undefined)
  const args = [...(schema === undefined ? [] : ['--migrate']), ...(options.args ?? [])]
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort())
    const env = environment({ port, dataDir, configFile, own: { ...databaseVariables(schema), ...options.env } })
    const { logFile, under = [], program = PROGRAM } = options
    const launched = launch({ env, cwd: folder, args, logFile, under, program })
    if (await ready(port, launched)) return handle({ port, dataDir, folder, env, launched, schema })
    if (attempt === PORT_ATTEMPTS || !/EADDRINUSE|is in use/.test(launched.output())) {
      launched.child.kill('SIGKILL')
      throw new Error(`The gateway did not become ready:\n${launched.output()}`)
    }
  }
}

/** Tests look at the metrics without a key, unless they are about that. */
function withOpenMetrics(config: { readonly server?: object }): object {
  return { ...config, server: { metrics_open: true, ...config.server } }
}

/** Of this pass's PostgreSQL; undefined: this is the pass of SQLite. */
const SERVER = process.env['TURNPIKE_TEST_DATABASE_URL']
const schemas = new Map<string, Promise<TestDatabase>>()

/**
 * Migrations are a third of the work of a first start. A data directory that goes on has the schema that it had.
 * @param isCurrent Whether the program is this one, which has the current schema.
 */
async function prepareDatabase(dataDir: string, isCurrent = true): Promise<TestDatabase | undefined> {
  const file = join(dataDir, 'turnpike.db')
  if (SERVER === undefined) {
    if (isCurrent && !existsSync(file)) await copyCurrentFile(file)
    return undefined
  }
  const known = schemas.get(dataDir) ?? createCurrentDatabase(SERVER)
  schemas.set(dataDir, known)
  return known
}

/** @returns the ID of the first account of a data directory, which is made for a process that will start there. */
export async function makeFirstAccount(dataDir: string, config: object): Promise<string> {
  const schema = await prepareDatabase(dataDir)
  const { firstAccount } = await import('./identity/gateway-keys.ts')
  const cwd = mkdtempSync(join(tmpdir(), 'turnpike-account-'))
  try {
    writeFileSync(join(cwd, 'turnpike.yaml'), JSON.stringify(config))
    return await firstAccount({ env: { ...databaseVariables(schema), TURNPIKE_DATA_DIR: dataDir }, cwd })
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

/** Processes that share data share the secret, too. */
function databaseVariables(schema: TestDatabase | undefined): Readonly<Record<string, string>> {
  if (schema === undefined) return {}
  return { DATABASE_URL: schema.url, TURNPIKE_SECRET: 'a secret of tests, known to everybody' }
}

/** Nothing of the surroundings gets in but what a process needs to run. */
function environment(parts: {
  port: number
  dataDir: string
  configFile: string
  own: Readonly<Record<string, string>>
}): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: parts.dataDir,
    HOST: '127.0.0.1',
    PORT: String(parts.port),
    TURNPIKE_DATA_DIR: parts.dataDir,
    TURNPIKE_CONFIG: parts.configFile,
    LOG_LEVEL: 'warn',
    NO_COLOR: '1',
    ...parts.own,
  }
}

function launch(parts: {
  env: Record<string, string>
  cwd: string
  args: readonly string[]
  logFile: string | undefined
  under: readonly string[]
  program: string
}): Launched {
  const { env, cwd, args, logFile, under, program } = parts
  const target = logFile === undefined ? 'pipe' : openSync(logFile, 'a')
  const [command = process.execPath, ...rest] = [...under, process.execPath, program, 'serve', ...args]
  const child = spawn(command, rest, { env, cwd, stdio: ['ignore', target, target] })
  if (typeof target === 'number') closeSync(target)
  let output = ''
  const gather = (piece: Buffer): void => {
    output += piece.toString()
  }
  child.stdout?.on('data', gather)
  child.stderr?.on('data', gather)
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve))
  return { child, exited, output: () => (logFile === undefined ? output : readFileSync(logFile, 'utf8')) }
}

async function ready(port: number, { child }: Launched): Promise<boolean> {
  const until = performance.now() + READY_WITHIN_MS
  while (performance.now() < until && child.exitCode === null && child.signalCode === null) {
    if (await answersReady(port)) return true
    await sleep(READY_POLL_MS)
  }
  return false
}

/** Not by `fetch`, which costs each test process more CPU time than the rest of a start. */
function answersReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path: '/readyz', agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('error', () => resolve(false))
  })
}

function handle(parts: {
  port: number
  dataDir: string
  folder: string
  env: Record<string, string>
  launched: Launched
  schema: TestDatabase | undefined
}): Gateway {
  const { port, dataDir, folder, launched, schema } = parts
  const { child, exited, output } = launched
  const kill = (): void => {
    child.kill('SIGKILL')
  }
  killAtExit(kill)
  const { NODE_OPTIONS: _, ...env } = parts.env // what is preloaded is for the gateway alone
  const installation = { env, cwd: folder }
  const cli = async (...args: string[]): Promise<string> => {
    const { runCommand } = await import('./identity/gateway-keys.ts') // most of the program: only where it is used
    const output = await runCommand(installation, args)
    if (output !== undefined) return output
    const result = await askCommandServer(args, installation)
    if (result !== undefined) return outputOf(args, result)
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], { env, cwd: folder })
    return stdout.trim()
  }
  const key = async (...flags: string[]): Promise<string> => {
    const wanted = wantedKey(flags)
    if (wanted === undefined) return cli('keys', 'create', '--name', 'test', ...flags)
    const { makeKey } = await import('./identity/gateway-keys.ts')
    return makeKey(installation, wanted)
  }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    dataDir,
    database: schema?.url ?? join(dataDir, 'turnpike.db'),
    pid: child.pid ?? 0,
    output,
    dropOutput: () => {
      child.stdout?.destroy()
      child.stderr?.destroy()
    },
    cli,
    key,
    keyOfNewAccount: () => key('--account', 'new'),
    signal: (name) => child.kill(name),
    exited,
    stop: async () => {
      child.kill('SIGTERM')
      const killer = setTimeout(kill, 60_000)
      const code = await exited
      clearTimeout(killer)
      atExit.delete(kill)
      if (!dataDir.startsWith(folder)) return code
      rmSync(folder, { recursive: true, force: true })
      await schema?.drop()
      return code
    },
  }
}

/** Throws as `execFile` does when the command failed. */
function outputOf(args: readonly string[], { code, out, error }: CommandResult): string {
  if (code === 0) return out.trim()
  const failed = new Error(`Command failed: turnpike ${args.join(' ')}\n${error}`)
  throw Object.assign(failed, { code, stdout: out, stderr: error })
}

/** Undefined: only the command itself makes keys with such flags. */
function wantedKey(flags: readonly string[]): WantedKey | undefined {
  const [first, account, ...rest] = flags
  if (first === undefined) return {}
  if (first === '--operator' && account === undefined) return { operator: true }
  if (first !== '--account' || account === undefined) return undefined
  if (rest.length === 0) return { account }
  return rest.length === 1 && rest[0] === '--operator' ? { account, operator: true } : undefined
}

const atExit = new Set<() => void>()
let watchesExit = false

/** No server outlives the process that started it, even when that one is told to end. */
function killAtExit(kill: () => void): void {
  atExit.add(kill)
  if (watchesExit) return
  watchesExit = true
  process.once('exit', () => {
    for (const each of atExit) each()
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1))
}

export interface ProviderSettings {
  readonly timeout_ms?: Readonly<Partial<Record<'connect' | 'first_byte' | 'idle' | 'total', number>>>
  readonly [setting: string]: unknown
}

/** A configuration with one OpenAI-compatible provider `up` at `url` and one model `m1`, which can do everything. */
export function oneModel(
  url: string,
  provider: ProviderSettings = {},
  over: Readonly<Record<string, unknown>> = {},
): object {
  return {
    providers: { up: { protocol: 'openai', base_url: `${url}/v1`, api_key: 'sk-up', ...provider } },
    models: [model('m1', 'up', 'up-model')],
    ...over,
  }
}

/** A model at one provider, with every capability and a price of 1 and 2 dollars per million tokens. */
export function model(id: string, provider: string, upstreamModel: string): Readonly<Record<string, unknown>> {
  return {
    id,
    owned_by: provider,
    capabilities: { streaming: true, function_calling: true, vision: true, json_mode: true },
    context_window: 128_000,
    max_output_tokens: 1000,
    pricing: { input_per_million: 1, output_per_million: 2 },
    deployments: [{ provider, model: upstreamModel }],
  }
}
