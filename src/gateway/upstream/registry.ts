import type { Provider, Transport } from '../../providers/provider.ts'
import { createHttpTransport, type HttpTransport } from './transport.ts'

/** A configured provider: the registry's facts with the operator's settings applied. */
export interface UpstreamProvider {
  /** The operator's name for it. */
  readonly name: string
  readonly provider: Provider
  readonly transport: Transport
  /** The base URL without a trailing slash. */
  readonly baseUrl: string
  /** The keys among which calls are distributed; [''] for hosts without one. */
  readonly credentials: readonly string[]
  readonly timeouts: UpstreamTimeouts
  /** What happens when the client disconnects. Undefined leaves it to the model. */
  readonly onDisconnect: 'cancel' | 'drain' | undefined
  /** Whether unknown body fields are forwarded; default: false. */
  readonly forwardUnknown?: boolean | undefined
  /**
   * The provider has the address that the registry has for its name, so the catalogue's facts about that host apply.
   */
  readonly isBuiltIn?: boolean | undefined
  /** Whether the provider may keep data for training, as the operator configured. */
  readonly dataCollection?: 'allow' | 'deny' | undefined
  /** Zero data retention, as the operator says. */
  readonly zdr?: boolean | undefined
  /** The most concurrent calls. Undefined if the provider has no limit of its own. */
  readonly maxInFlight: number | undefined
}

/** The destination of a request. */
export interface Target {
  readonly upstream: UpstreamProvider
  /** The provider's own name of the model. */
  readonly model: string
  readonly credential: string
}

/** Timeouts in milliseconds. `firstByte` and `idle` wait for data events; comments do not count. */
export interface UpstreamTimeouts {
  readonly connect: number
  readonly firstByte: number
  /** The timeout of an answer that is not streamed, whose first byte arrives when all of it is generated. */
  readonly wholeAnswer: number
  readonly idle: number
  readonly total: number
}

/** The configured providers with their transports; replaced by name on reload. */
export interface Upstreams {
  find(name: string): UpstreamProvider | undefined
  readonly names: ReadonlySet<string>
  /** Replaces the settings. Calls in flight continue on their connections. */
  replace(providers: readonly ConfiguredProvider[]): void
  /** Closes idle connections; resolves when calls in flight have ended. */
  close(): Promise<void>
}

/** A provider with the operator's settings, without its transport. */
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

  /** Returns the transport of a provider. A reload that does not change it keeps its connections. */
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
