/** Other gateways: Portkey and LiteLLM, which `--peers` installs into a temporary folder, and any that `--gateway` names. */
import { type ExecFileSyncOptions, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/support/process/free-port.ts'
import { MODELS } from './bench-config.ts'
import { startServer } from './processes.ts'
import { ANY_KEY, type Candidate, type Started } from './targets.ts'

/** As published in npm and PyPI; docs/benchmarks.md names them, too. */
export const PEER_VERSIONS = { Portkey: '1.15.2', LiteLLM: '1.108.7' } as const

/** Kept between runs, since LiteLLM has 750 MB of dependencies. */
const FOLDER = join(tmpdir(), 'turnpike-bench-peers')
const VENV = join(FOLDER, 'venv')
/** What is installed is printed to stderr, so that `--json` has stdout for itself. */
const TO_STDERR: ExecFileSyncOptions = { stdio: ['ignore', 2, 2] }

export function installedPeers(upstreamPort: number): readonly Candidate[] {
  mkdirSync(FOLDER, { recursive: true })
  const portkey = `@portkey-ai/gateway@${PEER_VERSIONS.Portkey}`
  execFileSync('npm', ['install', '--silent', '--ignore-scripts', '--prefix', FOLDER, portkey], TO_STDERR)
  if (!existsSync(VENV)) execFileSync('python3', ['-m', 'venv', VENV], TO_STDERR)
  execFileSync(join(VENV, 'bin', 'pip'), ['install', '--quiet', `litellm[proxy]==${PEER_VERSIONS.LiteLLM}`], TO_STDERR)
  return [
    { name: 'Portkey', start: () => startPortkey(upstreamPort) },
    { name: 'LiteLLM', start: () => startLitellm(upstreamPort) },
  ]
}

const logFile = (name: string): string => join(FOLDER, `${name}.log`)

/** The provider is chosen by headers of each request; no configuration is needed. */
async function startPortkey(upstreamPort: number): Promise<Started> {
  const port = await freePort()
  const program = join(FOLDER, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  const args = [program, '--headless', `--port=${port}`]
  const env = { NODE_ENV: 'production' }
  const started = await startServer({
    command: process.execPath,
    args,
    env,
    port,
    readyPath: '/',
    logFile: logFile('portkey'),
  })
  const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1` }
  return { ...started, headers }
}

/** One worker, no database, one key, with the environment that its documentation gives for production. */
async function startLitellm(upstreamPort: number): Promise<Started> {
  const port = await freePort()
  const file = join(FOLDER, 'litellm.yaml')
  const baseUrl = `http://127.0.0.1:${upstreamPort}/v1`
  const models = MODELS.map((id) => ({
    model_name: id,
    litellm_params: { model: `openai/${id}`, api_base: baseUrl, api_key: 'sk-up' },
  }))
  writeFileSync(file, JSON.stringify({ model_list: models, litellm_settings: { telemetry: false } }))
  const args = ['--config', file, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1']
  const env = {
    LITELLM_MODE: 'PRODUCTION',
    LITELLM_LOG: 'ERROR',
    LITELLM_LOCAL_MODEL_COST_MAP: 'True', // no download at the start
    LITELLM_MASTER_KEY: ANY_KEY, // it does not start without one
  }
  const command = join(VENV, 'bin', 'litellm')
  return await startServer({ command, args, env, port, readyPath: '/health/liveliness', logFile: logFile('litellm') })
}

/**
 * Reads `NAME=COMMAND`: a shell command that serves chat completions on 127.0.0.1:$PORT at /v1/chat/completions, with
 * the provider at $UPSTREAM_URL, an OpenAI-compatible base URL that accepts any key and has the models in $MODELS.
 */
export function namedGateway(option: string, upstreamPort: number): Candidate {
  const [, name = '', command = ''] = /^([^=]+)=(.+)$/s.exec(option) ?? []
  if (command === '') throw new Error(`--gateway takes NAME=COMMAND, not ${option}.`)
  const begin = async (): Promise<Started> => {
    mkdirSync(FOLDER, { recursive: true })
    const port = await freePort()
    const env = { PORT: String(port), UPSTREAM_URL: `http://127.0.0.1:${upstreamPort}/v1`, MODELS: MODELS.join(',') }
    const args = ['-c', command]
    return await startServer({ command: 'sh', args, env, port, readyPath: '/', logFile: logFile('named') })
  }
  return { name, start: begin }
}
