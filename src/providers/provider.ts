/**
 * A provider is data over a protocol: address, credentials, and differences from the protocol as options or functions in
 * the host's own file. It must not know HTTP clients or other providers.
 */
import type { ChatRequest, Task } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'
import { unsupportedParameter } from '../protocols/parameters.ts'
import { ProviderError, type UpstreamProtocol } from '../protocols/protocol.ts'

/** A call to a provider. */
export interface UpstreamCall {
  /** The provider's base URL with the protocol's path. */
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
}

export interface UpstreamHead {
  readonly status: number
  /** Lower-case names; of a repeated header the first value. */
  readonly headers: Readonly<Record<string, string>>
}

/** One exchange with a provider. Nothing is sent twice and nothing outlives `abort`. */
export interface UpstreamExchange {
  /** Resolves with the response's head, rejects when there is none. */
  readonly head: Promise<UpstreamHead>
  /** The next bytes of the body as they came from the network; undefined at its end. Rejects when the body is cut. */
  read(): Promise<Uint8Array | undefined>
  /** Destroys the connection at once. Pending reads reject. Harmless at any time. */
  abort(): void
}

/**
 * The transport of calls: HTTP for all but the simulator.
 * @param onSend Called right before the call's first byte is sent; never for a call of which none is sent. Does not throw.
 */
export type Transport = (call: UpstreamCall, onSend?: () => void) => UpstreamExchange

/** Adds the credential to the headers of a call that is otherwise complete: signatures cover the bytes sent. */
export type Authorize = (call: UpstreamCall, credential: string) => void | Promise<void>

/** Settings of an operator's entry that only some hosts know, by their names in the configuration. */
export type SettingName = 'region' | 'project' | 'api_version' | 'credentials_file'

export interface ProviderSettings extends Readonly<Partial<Record<SettingName, string>>> {
  /** The operator's address, without trailing slash. */
  readonly base_url?: string
}

/** How a host treats the output limit. */
export interface OutputLimitFacts {
  /** Whether it rejects a limit above the model's maximum. */
  readonly refusesMore?: boolean
  /**
   * The most reasoning tokens beside the limit, for one answer to this request. Absent: none, the limit covers all output.
   */
  readonly reasoningOutside?: (request: ChatRequest, model: Pick<Model, 'contextWindow' | 'maxOutputTokens'>) => number
}

export type TaskProtocols = Readonly<Partial<Record<Task['type'], UpstreamProtocol>>>

export interface Provider {
  readonly id: string
  /** `gen_ai.provider.name` of the semantic conventions of OpenTelemetry. Default: `id`. */
  readonly telemetryName?: string
  /** Shown in the documentation, and as the default `owned_by` of models. */
  readonly name: string
  /** Without trailing slash. Undefined: the operator must give one. */
  readonly baseUrl?: string
  /** The environment variable whose presence enables the provider. */
  readonly apiKeyVariable?: string
  /** Of chat completions. */
  readonly protocol: UpstreamProtocol
  /** Default: true. Without chat models, `protocol` is not called. */
  readonly hasChat?: boolean
  /** Of other requests. Without `completion`, a legacy completion is sent as a chat completion. */
  readonly tasks?: TaskProtocols
  /** Other protocols at the same address with the same key, which deployments can select, by name in the configuration. */
  readonly protocols?: Readonly<Record<string, UpstreamProtocol>>
  readonly authorize: Authorize
  /** By default the host lowers a limit above the model's maximum to it, and counts reasoning within the limit. */
  readonly outputLimit?: OutputLimitFacts
  /**
   * Whether its models reason beyond what their streams show: by default (`unasked`), or only on request (`asked`).
   * Undefined: streams show reasoning as it comes. Measurements of answers take precedence.
   */
  readonly hiddenReasoning?: 'unasked' | 'asked'
  /** Only for providers that are not reached over HTTP. */
  readonly transport?: Transport
  /** Clients script its answers, failures included, so that its health means nothing. */
  readonly scripted?: boolean
  /** The settings that this host knows. Default: none. */
  readonly settings?: readonly SettingName[]
  /**
   * The environment variables that supply settings which an entry of the configuration omits. Unlike `apiKeyVariable`,
   * these enable nothing: they are set on machines for other reasons too.
   */
  readonly settingVariables?: Readonly<Partial<Record<SettingName | 'base_url' | 'api_key', string>>>
  /** Where a model runs, by its name and the settings; undefined: not known. */
  readonly regionOf?: (model: string) => string | undefined
  /** Applies an operator's settings. Throws an Error that names what is missing or wrong. */
  readonly configure?: (settings: ProviderSettings) => Partial<Provider>
  /** The page these facts come from, and when it was read. */
  readonly source: { readonly url: string; readonly read: string }
}

/** @throws GatewayError `unsupported_parameter` for a task, or a suffix, that the provider does not have. */
export function protocolOf(
  { name, protocol, tasks, hasChat = true }: Pick<Provider, 'name' | 'protocol' | 'tasks' | 'hasChat'>,
  request: ChatRequest,
): UpstreamProtocol {
  const { task } = request
  const own = task === undefined ? undefined : tasks?.[task.type]
  if (own !== undefined) return own
  const isChat = task === undefined || task.type === 'completion'
  if (task?.type === 'completion' && task.suffix !== undefined) throw unsupportedParameter('suffix')
  if (isChat && hasChat) return protocol.forRequest?.(request) ?? protocol
  const message = `${name}, the provider of this model, has no ${isChat ? 'chat' : task.type} models.`
  throw new GatewayError('unsupported_parameter', message, { param: 'model' })
}

export const bearer: Authorize = ({ headers }, credential) => {
  if (credential !== '') headers['authorization'] = `Bearer ${credential}`
}

/** For hosts without credentials. */
export const noCredential: Authorize = () => {}

/** The longest wait for a credential, in milliseconds. */
export const MAX_CREDENTIAL_WAIT_MS = 10_000

/**
 * Obtains a credential that the configuration does not have: from a token service, a file, the machine. Rejects with
 * `ProviderError` of kind `credentials` when there is none in time; the cause has the reason.
 */
export async function obtainCredential<Credential>(obtain: () => Promise<Credential>): Promise<Credential> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), MAX_CREDENTIAL_WAIT_MS)
  try {
    return await Promise.race([obtain(), late.promise])
  } catch (cause) {
    const message = 'No credential for the provider could be had.'
    throw new ProviderError({ kind: 'credentials', message, status: 0 }, { cause })
  } finally {
    clearTimeout(timer)
  }
}
