/** What the doctor looks at on the network: the own port, and whether providers answer. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { request } from 'undici'
import type { Config, ProviderConfig } from '../config/schema.ts'
import { resolveProvider } from '../providers/index.ts'
import { type Check, failed, messageOf, passed } from './doctor-machine.ts'

const LONGEST_WAIT_MS = 3_000

export async function checkPort({ host, port }: Config['server']): Promise<Check> {
  const name = 'port'
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const code = await failureToListen(host, port)
  if (code === undefined) return passed(name, `${address}: free`)
  if (code !== 'EADDRINUSE') {
    const fix = code === 'EACCES' ? 'Choose a port above 1023.' : 'Set HOST to an address of this machine.'
    return failed(name, `${address}: cannot be listened on (${code})`, fix)
  }
  if (await isTurnpike(address)) return passed(name, `${address}: already served by a Turnpike`)
  return failed(name, `${address}: taken by another program`, 'End that program, or set PORT to another one.')
}

/** Each configured provider: has it a key, does it answer, does it take the key. */
export async function checkProviders(providers: Config['providers']): Promise<Check> {
  const name = 'providers'
  const results = await Promise.all(Object.entries(providers).map(([id, config]) => examineProvider(id, config)))
  if (results.length === 0) return passed(name, 'none configured; the built-in simulator answers')
  const message = results.map(({ id, state }) => `${id}: ${state}`).join('\n')
  const fixes = results.flatMap(({ fix }) => (fix === undefined ? [] : [fix]))
  return fixes.length === 0 ? passed(name, message) : failed(name, message, fixes.join(' '))
}

interface ProviderResult {
  readonly id: string
  readonly state: string
  /** Undefined when nothing is wrong. */
  readonly fix?: string
}

async function examineProvider(id: string, config: ProviderConfig): Promise<ProviderResult> {
  try {
    const { provider, baseUrl, credentials } = resolveProvider(id, config)
    if (provider.transport !== undefined) return { id, state: 'built in' }
    const credential = credentials[0] ?? ''
    const needsKey = provider.apiKeyVariable !== undefined && config.base_url === undefined
    if (needsKey && credential === '') {
      return { id, state: 'no key', fix: `Set ${provider.apiKeyVariable}, or providers.${id}.api_key.` }
    }
    const call = { url: `${baseUrl}/models`, headers: { accept: 'application/json' }, body: '' }
    await provider.authorize(call, credential)
    return describeStatus(id, await statusOf(call.url, call.headers))
  } catch (error) {
    const fix = `Check providers.${id}.base_url and the network between.`
    return { id, state: `unreachable (${reasonOf(error)})`, fix }
  }
}

/** Any answer proves that somebody is there; only a refused credential is wrong. */
function describeStatus(id: string, status: number): ProviderResult {
  if (status !== 401 && status !== 403) return { id, state: 'reachable' }
  return { id, state: `unauthorised (${status})`, fix: `Check the key of the provider ${id}.` }
}

async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const response = await request(url, { headers, signal: AbortSignal.timeout(LONGEST_WAIT_MS) })
  response.body.on('error', () => undefined).destroy() // only the head is of interest
  return response.statusCode
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${LONGEST_WAIT_MS / 1000} s`
  return 'code' in error && typeof error.code === 'string' ? error.code : messageOf(error)
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
    const response = await request(`http://${address.replace(/^(0\.0\.0\.0|\[::\]):/, 'localhost:')}/openapi.json`, {
      signal: AbortSignal.timeout(LONGEST_WAIT_MS),
    })
    const document = (await response.body.json()) as { readonly info?: { readonly title?: unknown } } | null
    return document?.info?.title === 'Turnpike'
  } catch {
    return false
  }
}
