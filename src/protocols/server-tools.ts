/**
 * Tools that run at the provider, which charges a fee for each use: their names in prices, the one rule of which are
 * sent, and the sources that answers cite. A tool without a price is never sent, nor one with a fee and no limit of uses.
 */
import type { ChatRequest, ServerTool } from '../domain/chat.ts'
import type { GatewayError } from '../domain/errors.ts'
import type { Price } from '../domain/price/tariff.ts'
import type { Json } from '../lib/json.ts'
import { unsupportedParameter } from './parameters.ts'

/** How the uses of one tool are limited and counted, for one call of a provider. */
export interface ToolUse {
  /** Undefined if unlimited. */
  readonly limit: number | undefined
  /**
   * `uses` (the default): as reported, up to `limit`. `calls`: once for each call that used it, however often. `always`:
   * `limit` for each call, where the provider reports nothing.
   */
  readonly counted?: 'uses' | 'calls' | 'always'
  /** The field of the request that enables it, where it is no entry of `tools`. */
  readonly param?: string
}

/** The uses by name in prices. */
export type ToolUses = Readonly<Record<string, ToolUse>>

/**
 * Uses held for where the provider alone decides how often it uses a tool, and publishes no maximum. More are not
 * charged for, and reported as `usage_source: bounded`.
 */
export const DEFAULT_USE_LIMIT = 20

/** Vendors' names of a tool, to the one in prices. */
const NAMES: Readonly<Record<string, string>> = {
  google_search: 'web_search',
  googleSearch: 'web_search',
  web_search_preview: 'web_search',
  codeExecution: 'code_execution',
  code_interpreter: 'code_execution',
  urlContext: 'url_context',
}
/** Types carry the date of their version: `web_search_20260209`. */
const VERSION = /_\d{4}_?\d{2}_?\d{2}$/

/** The name in prices of an entry of `tools` that is neither a function nor a custom tool; undefined: it is no tool. */
export function serverToolName({ type, ...fields }: Json): string | undefined {
  const name = typeof type === 'string' ? type.replace(VERSION, '') : Object.keys(fields)[0]
  return name === undefined ? undefined : Object.hasOwn(NAMES, name) ? NAMES[name] : name
}

/** The fee of one use in nano-dollars; undefined: the price does not cover the tool. */
export function toolFee(
  name: string,
  { serverToolNanoUsd: fees }: Pick<Price, 'serverToolNanoUsd'>,
): number | undefined {
  return fees !== undefined && Object.hasOwn(fees, name) ? fees[name] : undefined
}

/** @throws GatewayError `unsupported_parameter` for a tool of the request without a price. */
export function refuseUnpricedTools({ serverTools = [] }: ChatRequest, price: Price | undefined): void {
  for (const { name, param } of serverTools) {
    if (price === undefined || toolFee(name, price) === undefined) throw unpricedTool(name, param)
  }
}

/**
 * Clients of other APIs offer such tools unasked, as Codex does: those without a price are left out and named in the
 * warnings.
 */
export function withoutUnpricedTools(request: ChatRequest, price: Price | undefined): ChatRequest {
  const { serverTools = NONE, tools = [], ignoredParameters = [], native, isTranslated } = request
  if (serverTools.length === 0 || isTranslated !== true || native?.protocol === 'anthropic') return request
  const isPriced = ({ name }: ServerTool) => price !== undefined && toolFee(name, price) !== undefined
  const dropped = serverTools.filter((tool) => !isPriced(tool)).map(({ param }) => param)
  if (dropped.length === 0) return request
  const rest = {
    ...request,
    serverTools: serverTools.filter(isPriced),
    ignoredParameters: [...ignoredParameters, ...dropped],
  }
  if (tools.length > 0 || rest.serverTools.length > 0) return rest
  const { toolChoice: _, ...withoutChoice } = rest // `auto`: the parser refuses others without tools of the client
  return withoutChoice
}

/** @param param The field of the request that enables the tool. */
export function unpricedTool(name: string, param: string): GatewayError {
  return unsupportedParameter(
    param,
    `\`${param}\` asks for a tool that runs at the provider (\`${name}\`) and has no price for this model.`,
  )
}

const NONE: readonly ServerTool[] = []

/**
 * The request's tools that run at the provider, all of them priced.
 * @param supports Whether the host has the tool.
 * @throws GatewayError `unsupported_parameter` for a tool that must not be sent.
 */
export function sentServerTools(
  request: ChatRequest,
  { price }: { readonly price?: Price | undefined },
  supports: (tool: ServerTool) => boolean,
): readonly ServerTool[] {
  const { serverTools = NONE } = request
  if (serverTools.length === 0) return NONE
  refuseUnpricedTools(request, price)
  const unsupported = serverTools.find((tool) => !supports(tool))
  if (unsupported === undefined) return serverTools
  const { name, param } = unsupported
  throw unsupportedParameter(param, `The provider of this model does not support \`${param}\` (\`${name}\`).`)
}

/** The limits in the request's own tools, for hosts without a rule of their own. */
export function requestedToolUses({ serverTools = NONE }: ChatRequest): ToolUses {
  return sumOfUses(serverTools.map(({ name, maxUses }) => [name, maxUses]))
}

/** Adds up the uses of several entries of one tool. */
export function sumOfUses(entries: readonly (readonly [name: string, limit: number | undefined])[]): ToolUses {
  const uses: Record<string, ToolUse> = {}
  for (const [name, limit] of entries) {
    const before = Object.hasOwn(uses, name) ? uses[name] : undefined
    uses[name] = { limit: before === undefined ? limit : sumOfLimits(before.limit, limit) }
  }
  return uses
}

function sumOfLimits(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other
}

/** Returns whether a body field requests a web search: OpenAI's `web_search_options`. */
export function requestsSearch({ extra }: Pick<ChatRequest, 'extra'>): boolean {
  const { web_search_options: options } = extra
  return options !== undefined && options !== null
}

/** A source that an answer cites, as in `annotations` of OpenAI's messages. */
export interface UrlCitation {
  readonly type: 'url_citation'
  /** The range of the content in UTF-16 units; the end is excluded. */
  readonly url_citation: {
    readonly start_index: number
    readonly end_index: number
    readonly url: string
    readonly title: string
  }
}

/** Further sources are dropped, since answers are kept in memory. */
const MAX_CITATIONS = 256

/** Adds a source unless it is known for that range, or there are too many. */
export function addCitation(known: UrlCitation[], cited: UrlCitation['url_citation']): void {
  const isKnown = known.some(({ url_citation: one }) => one.url === cited.url && one.start_index === cited.start_index)
  if (isKnown || cited.url === '' || known.length >= MAX_CITATIONS) return
  known.push({ type: 'url_citation', url_citation: cited })
}
