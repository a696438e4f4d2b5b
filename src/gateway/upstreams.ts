import type { Transport } from '../providers/provider.ts'
import { createHttpTransport, type HttpTransport } from './http-transport.ts'
import type { UpstreamProvider } from './ports.ts'

/** The configured providers with what reaches them; replaced by name on reload. */
export interface Upstreams {
  find(name: string): UpstreamProvider | undefined
  readonly names: ReadonlySet<string>
  /** Takes over other settings. Calls under way end on the connections they have. */
  replace(providers: readonly ConfiguredProvider[]): void
  /** Closes idle connections; resolves when calls under way have ended. */
  close(): Promise<void>
}

/** A provider under the operator's settings, before there is a way to reach it. */
export type ConfiguredProvider = Omit<UpstreamProvider, 'transport'>

export function createUpstreams(providers: readonly ConfiguredProvider[]): Upstreams {
  let current = new Map<string, UpstreamProvider>()
  let transports = new Map<string, HttpTransport>()

  function replace(next: readonly ConfiguredProvider[]): void {
    const kept = new Map<string, HttpTransport>()
    const found = new Map<string, UpstreamProvider>()
    for (const provider of next) found.set(provider.name, { ...provider, transport: transportOf(provider, kept) })
    for (const [key, transport] of transports) if (!kept.has(key)) void transport.close()
    current = found
    transports = kept
  }

  /** Connections outlive a reload that does not concern them. */
  function transportOf(provider: ConfiguredProvider, kept: Map<string, HttpTransport>): Transport {
    if (provider.provider.transport !== undefined) return provider.provider.transport
    const key = `${provider.name} ${provider.baseUrl} ${provider.timeouts.connect}`
    const transport = transports.get(key) ?? createHttpTransport(provider.baseUrl, provider.timeouts.connect)
    kept.set(key, transport)
    return transport.transport
  }

  replace(providers)
  return {
    find: (name) => current.get(name),
    get names() {
      return new Set(current.keys())
    },
    replace,
    close: async () => void (await Promise.all([...transports.values()].map((transport) => transport.close()))),
  }
}
