/**
 * Where to talk and who we are there: a provider is data over a protocol. It must not know HTTP clients, requests of
 * ours, or other providers; what differs between hosts is an option of the protocol or a wrap in the host's own file.
 */
import type { ChatRequest } from '../domain/chat.ts'
import type { Model } from '../domain/model.ts'
import type { UpstreamProtocol } from '../protocols/protocol.ts'

/** What a transport sends. */
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
 * How bytes get there and back: HTTP for all but the simulator.
 * @param onSend Called right before the call's first byte leaves; never for a call that no byte of leaves. Does not throw.
 */
export type Transport = (call: UpstreamCall, onSend?: () => void) => UpstreamExchange

/** Adds the credential to the headers of a call that is otherwise ready: whoever signs must see the bytes sent. */
export type Authorize = (call: UpstreamCall, credential: string) => void | Promise<void>

/** Settings of an operator's entry that only some hosts know, by their names in the configuration. */
export type SettingName = 'region' | 'project' | 'api_version' | 'credentials_file'

export interface ProviderSettings extends Readonly<Partial<Record<SettingName, string>>> {
  /** The operator's address, without trailing slash. */
  readonly base_url?: string
}

/** How a host takes the limit of an answer's length. */
export interface OutputLimitFacts {
  /** Whether it refuses a limit above the model's maximum. */
  readonly refusesMore?: boolean
  /**
   * The most tokens that a model reasons beside the limit, for one answer to this request. Absent: none, the limit is of
   * everything that is generated.
   */
  readonly reasoningOutside?: (request: ChatRequest, model: Pick<Model, 'contextWindow' | 'maxOutputTokens'>) => number
}

export interface Provider {
  readonly id: string
  /** Shown as `owned_by` of models that say no other, and in the documentation. */
  readonly name: string
  /** Without trailing slash. Undefined: the operator must give one. */
  readonly baseUrl?: string
  /** The environment variable whose presence switches the provider on. */
  readonly apiKeyVariable?: string
  readonly protocol: UpstreamProtocol
  readonly authorize: Authorize
  /** Unless said, a limit above the model's maximum is lowered to it, and reasoning counts within the limit. */
  readonly outputLimit?: OutputLimitFacts
  /** Only for providers that are not reached over HTTP. */
  readonly transport?: Transport
  /** It does what its clients ask it to, failures included: how it fares says nothing about it. */
  readonly scripted?: boolean
  /** The settings this host knows; none unless said. */
  readonly settings?: readonly SettingName[]
  /**
   * Setting to the environment variable that fills it where an entry of the configuration leaves it open. Unlike
   * `apiKeyVariable`, these switch nothing on: they are set on machines for other reasons too.
   */
  readonly settingVariables?: Readonly<Partial<Record<SettingName | 'base_url' | 'api_key', string>>>
  /** What an operator's settings change of these facts. Throws an Error that says what is missing or wrong. */
  readonly configure?: (settings: ProviderSettings) => Partial<Provider>
  /** The page these facts come from, and when it was read. */
  readonly source: { readonly url: string; readonly read: string }
}

export const bearer: Authorize = ({ headers }, credential) => {
  if (credential !== '') headers['authorization'] = `Bearer ${credential}`
}

/** For hosts that are told apart by address alone. */
export const noCredential: Authorize = () => {}
