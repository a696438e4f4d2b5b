/** What the doctor looks at on the network: the own port, and whether providers answer. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { request } from 'undici'
import type { Config, ProviderConfig } from '../config/schema.ts'
import type { ProviderProbe } from '../domain/provider-probe.ts'
import { probeProvider } from '../gateway/provider-probe.ts'
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
    const resolved = resolveProvider(id, config)
    return describe(id, await probeProvider(resolved, LONGEST_WAIT_MS))
  } catch (error) {
    return unreachable(id, messageOf(error))
  }
}

/** Any answer proves that somebody is there; what is wrong is a refused credential, and that it fails just now. */
function describe(id: string, probe: ProviderProbe): ProviderResult {
  switch (probe.kind) {
    case 'built_in':
      return { id, state: 'built in' }
    case 'no_key':
      return { id, state: 'no key', fix: `Set ${probe.variable}, or providers.${id}.api_key.` }
    case 'no_credential':
      return { id, state: 'no credential', fix: `Check where the provider ${id} is to get its credential from.` }
    case 'answered':
      return { id, state: 'reachable' }
    case 'refused':
      return { id, state: `unauthorised (${probe.status})`, fix: `Check the key of the provider ${id}.` }
    case 'limited':
      return { id, state: `limits requests (${probe.status})`, fix: `Wait, or raise the limits at the provider ${id}.` }
    case 'failing':
      return { id, state: `fails (${probe.status})`, fix: `Look at what the provider ${id} says of its own state.` }
    case 'silent':
      return unreachable(id, `no answer within ${LONGEST_WAIT_MS / 1000} s`)
    case 'unreachable':
      return unreachable(id, probe.reason)
  }
}

function unreachable(id: string, reason: string): ProviderResult {
  return { id, state: `unreachable (${reason})`, fix: `Check providers.${id}.base_url and the network between.` }
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
