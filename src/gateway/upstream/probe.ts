/**
 * Probes a provider with one free call, for its list of models. It reads only the response head and does not change the
 * health of the provider.
 */
import type { ProviderProbe } from '../../domain/provider-status.ts'
import { ProviderError } from '../../protocols/protocol.ts'
import type { Provider } from '../../providers/provider.ts'

export interface ProbeTarget {
  readonly provider: Provider
  /** The base URL without a trailing slash. */
  readonly baseUrl: string
  /** The first credential is used; '' for hosts without keys. */
  readonly credentials: readonly string[]
}

interface ModelList {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Whether the list requires a valid key and every valid key may read it. Otherwise a rejection does not prove that
   * the key is invalid.
   */
  readonly provesKey: boolean
}

const USUAL: ModelList = { path: '/models', provesKey: true }
/**
 * The path of the model list by protocol. Bedrock's runtime has none, and its signatures cover only calls that it
 * has.
 */
const LISTS: Readonly<Record<string, ModelList>> = {
  anthropic: { path: '/v1/models', headers: { 'anthropic-version': '2023-06-01' }, provesKey: true },
  gemini: { path: '/v1beta/models', provesKey: true },
  bedrock: { path: '/models', provesKey: false },
}

/**
 * Probes a provider. Never rejects.
 * @param waitMs The timeout for fetching the credential, connecting and the response head together.
 */
export async function probeProvider(target: ProbeTarget, waitMs: number): Promise<ProviderProbe> {
  const { provider } = target
  if (provider.transport !== undefined) return { kind: 'built_in' }
  const variable = missingKey(target)
  if (variable !== undefined) return { kind: 'no_key', variable }
  const late = Promise.withResolvers<ProviderProbe>()
  const stop = new AbortController()
  const timer = setTimeout(() => {
    late.resolve({ kind: 'silent' })
    stop.abort()
  }, waitMs)
  try {
    return await Promise.race([probe(target, stop.signal), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the variable of a missing key. Only at its own address does the host certainly require one. */
function missingKey({ provider, baseUrl, credentials }: ProbeTarget): string | undefined {
  const isElsewhere = baseUrl !== provider.baseUrl
  return isElsewhere || (credentials[0] ?? '') !== '' ? undefined : provider.apiKeyVariable
}

async function probe({ provider, baseUrl, credentials }: ProbeTarget, signal: AbortSignal): Promise<ProviderProbe> {
  const { path, headers, provesKey } = LISTS[provider.protocol.id] ?? USUAL
  const call = { url: `${baseUrl}${path}`, headers: { accept: 'application/json', ...headers }, body: '' }
  try {
    await provider.authorize(call, credentials[0] ?? '')
    const { request } = await import('undici')
    const { statusCode: status, body } = await request(call.url, { headers: call.headers, signal })
    body.on('error', () => undefined).destroy() // the body is not read
    return { kind: kindOf(status, provesKey), status }
  } catch (error) {
    if (error instanceof ProviderError) return { kind: 'no_credential' }
    return { kind: 'unreachable', reason: reasonOf(error) }
  }
}

function kindOf(status: number, provesKey: boolean): 'answered' | 'refused' | 'limited' | 'failing' {
  if (status === 429) return 'limited'
  if (status >= 500) return 'failing'
  return provesKey && (status === 401 || status === 403) ? 'refused' : 'answered'
}

/** Returns the code or the name of an error: its message may quote the request. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
