/**
 * Renders tools and the choice among them: functions, custom tools, and web searches, which run at the host. The API
 * limits the uses of its own tools by `max_tool_calls`, which is sent whenever there is one.
 *
 * Source: OpenAI, "Function calling", "Web search" (search actions have a fee) and "Create a response", read 2026-11-24.
 */
import type { ChatRequest, ServerTool, Tool, ToolChoice } from '../../domain/chat.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import { unsupportedParameter } from '../parameters.ts'
import type { RenderTarget } from '../protocol.ts'
import { DEFAULT_USE_LIMIT, requestsSearch, sentServerTools, type ToolUses } from '../server-tools.ts'

export interface RenderedTools {
  readonly tools?: readonly Json[]
  readonly tool_choice?: unknown
  readonly parallel_tool_calls?: boolean | undefined
  readonly max_tool_calls?: number
}

/** @param searches Whether the host has a web search. @throws GatewayError `unsupported_parameter` for other tools of hosts. */
export function renderTools(request: ChatRequest, target: RenderTarget, searches: boolean): RenderedTools {
  const { tools = [], toolChoice, parallelToolCalls } = request
  const custom = new Set(tools.filter(isCustom).map((tool) => tool.function.name))
  const hosted = renderServerTools(request, target, searches)
  if (tools.length === 0 && hosted.length === 0) return {}
  return {
    tools: [...tools.map(renderTool), ...hosted],
    tool_choice: typeof toolChoice === 'object' ? renderChoice(toolChoice, custom) : toolChoice,
    parallel_tool_calls: parallelToolCalls,
    ...(hosted.length > 0 && { max_tool_calls: searchLimit(request) }),
  }
}

function isCustom({ custom }: Tool): boolean {
  return custom !== undefined
}

/** Renders a tool. In this API functions are strict by default; in chat completions they are not. */
function renderTool({ function: { name, description, parameters, strict }, custom }: Tool): Json {
  if (custom !== undefined) return { type: 'custom', name, description, format: renderGrammar(custom.format) }
  return { type: 'function', name, description, parameters: parameters ?? null, strict: strict ?? false }
}

/** Chat completions nest what a grammar is; here it is flat. */
function renderGrammar(format: unknown): unknown {
  if (!isRecord(format) || !isRecord(format['grammar'])) return format
  return { type: 'grammar', ...format['grammar'] }
}

function renderChoice(choice: Exclude<ToolChoice, string>, custom: ReadonlySet<string>): Json {
  if (choice.type === 'function') return renderNamed(choice.function.name, custom)
  const { mode, tools } = choice.allowed_tools
  return { type: 'allowed_tools', mode, tools: tools.map((tool) => renderNamed(tool.function.name, custom)) }
}

function renderNamed(name: string, custom: ReadonlySet<string>): Json {
  return { type: custom.has(name) ? 'custom' : 'function', name }
}

/** Renders one search tool, however the request enables it. */
function renderServerTools(request: ChatRequest, target: RenderTarget, searches: boolean): readonly Json[] {
  const sent = sentServerTools(request, target, ({ name }) => searches && name === 'web_search')
  if (sent.length > 0) return sent.map(renderSearch)
  if (!searches || !requestsSearch(request)) return []
  const { web_search_options: options } = request.extra
  const { search_context_size, user_location: location } = isRecord(options) ? options : {}
  const nested = isRecord(location) && isRecord(location['approximate']) ? location['approximate'] : location
  return [{ type: 'web_search', search_context_size, user_location: locationOf(nested) }]
}

/** @throws GatewayError `unsupported_parameter` for domains to leave out, which the API does not know. */
function renderSearch({ wire, param }: ServerTool): Json {
  const { type, max_uses: _, name, user_location, allowed_domains: domains, blocked_domains: blocked, ...own } = wire
  if (Array.isArray(blocked) && blocked.length > 0) throw unsupportedParameter(`${param}.blocked_domains`)
  const filters = Array.isArray(domains) ? { filters: { allowed_domains: domains } } : {}
  const isOfOpenAi = name === undefined && typeof type === 'string'
  return { ...own, ...filters, type: isOfOpenAi ? type : 'web_search', user_location: locationOf(user_location) }
}

function locationOf(location: unknown): Json | undefined {
  return isRecord(location) ? { ...location, type: 'approximate' } : undefined
}

/** The most searches of one call: the client's limit, in either form. */
function searchLimit({ serverTools = [], extra }: ChatRequest): number {
  const { max_tool_calls: limit } = extra
  const own = serverTools.reduce((sum, { maxUses = DEFAULT_USE_LIMIT }) => sum + maxUses, 0) || DEFAULT_USE_LIMIT
  return typeof limit === 'number' && Number.isSafeInteger(limit) && limit > 0 ? Math.min(limit, own) : own
}

/** The chargeable uses of one call, for hosts that search. */
export function toolUses(request: ChatRequest): ToolUses {
  const requested = request.serverTools ?? []
  if (requested.length === 0 && !requestsSearch(request)) return {}
  const [first] = requested
  return { web_search: { limit: searchLimit(request), param: first?.param ?? 'web_search_options' } }
}
