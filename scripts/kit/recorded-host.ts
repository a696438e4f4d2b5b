/** Resolves the host and the credential of `npm run record` from the registry and the configuration. */
import { CATALOGUE } from '../../catalogue/index.ts'
import type { Config } from '../../src/config/schema.ts'
import { createUpstreams, type Upstreams } from '../../src/gateway/upstream/transport.ts'
import { type ProviderConfig, type ResolvedProvider, resolveProvider } from '../../src/providers/index.ts'
import type { RecordedHost } from './recorder.ts'

/** Invalid arguments. */
export class WrongUsage extends Error {}

export interface WantedHost {
  /** Its name in the configuration, or in the registry. */
  readonly provider: string
  /** Name of the model at the host; undefined: the newest of the catalogue. */
  readonly model: string | undefined
}

const DEFAULTS: ProviderConfig = {
  timeout_ms: { connect: 10_000, idle: 120_000, total: 300_000 },
  on_disconnect: 'cancel',
}

/** Returns the host with its settings, and its connections, which must be closed. */
export function hostOf(
  { provider: name, model: wanted }: WantedHost,
  config: Config,
): { host: RecordedHost; upstreams: Upstreams } {
  const settings = config.providers[name]
  const resolved = resolvedProvider(name, settings)
  const { apiKeyVariable, transport } = resolved.provider
  const [credential = ''] = resolved.credentials
  if (
    credential === '' &&
    apiKeyVariable !== undefined &&
    settings?.base_url === undefined &&
    transport === undefined
  ) {
    throw new WrongUsage(`${name} needs a key in ${apiKeyVariable}.`)
  }
  const known = modelAt(resolved.provider.id, wanted)
  const model = wanted ?? known?.model
  if (model === undefined) throw new WrongUsage(`The catalogue has no model of ${name}: name one with --model.`)
  const upstreams = createUpstreams([resolved])
  const upstream = upstreams.find(name)
  if (upstream === undefined) throw new Error(`${name} cannot be reached.`)
  const { maxOutputTokens } = known ?? {}
  const kind = settings?.kind ?? name
  return {
    host: { upstream, kind, credential, model, maxOutputTokens, timeoutMs: DEFAULTS.timeout_ms.total },
    upstreams,
  }
}

function resolvedProvider(name: string, settings: Config['providers'][string] | undefined): ResolvedProvider {
  try {
    return resolveProvider(name, settings ?? DEFAULTS)
  } catch (error) {
    throw new WrongUsage(error instanceof Error ? error.message : String(error))
  }
}

/** Returns the newest model of a host in the catalogue, or the wanted one if it is there. */
function modelAt(provider: string, wanted: string | undefined) {
  const newestFirst = [...CATALOGUE].sort((a, b) => b.created - a.created)
  for (const { deployments, max_output_tokens: limit } of newestFirst) {
    const at = deployments.find((deployment) => deployment.provider === provider)
    if (at === undefined || (wanted !== undefined && wanted !== at.model)) continue
    return { model: at.model, maxOutputTokens: limit ?? undefined }
  }
  return undefined
}
