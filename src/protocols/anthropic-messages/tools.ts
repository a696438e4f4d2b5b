/**
 * Renders tools, the choice among them, and structured output: by the API's own means where a model has them, else by a
 * tool that stands for the answer. Tools that run at the API are all sent with `max_uses`, since it publishes no
 * maximum; `web_search_options`, OpenAI's field for a search, becomes such a tool.
 *
 * Source: Claude Docs, "Web search tool" and "Web fetch tool": `max_uses`; a fee for each search that succeeded, none
 * for a fetch; results count as input tokens.
 */
import type { ChatMessage, ChatRequest, ResponseFormat, ServerTool, Tool } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { isRecord, type Json } from '../../lib/json.ts'
import { ANSWER_TOOL, type Block } from '../conversation.ts'
import type { RenderTarget } from '../protocol.ts'
import { requestsSearch, sentServerTools, sumOfUses, type ToolUses, toolFee } from '../server-tools.ts'
import type { ModelTraits } from './models.ts'
import { nativeOf } from './native.ts'
import { fitSchema } from './schema.ts'

/** The limit of the API. */
const MAX_STRICT_TOOLS = 20
const NO_PARAMETERS = { type: 'object', properties: {} } as const

export interface ToolPlan {
  /** Undefined if there are none. */
  readonly tools: readonly Block[] | undefined
  readonly choice: Block | undefined
  /** Whether a call is forced. */
  readonly isForced: boolean
  /** The instruction for models whose calls cannot be forced. */
  readonly instruction: string | undefined
}

export interface ToolPlanning {
  readonly traits: ModelTraits
  /** Stands for a structured answer. */
  readonly answerTool: Block | undefined
  readonly warnings: Set<string>
}

/** The client's choice among the tools. */
type Choice = { readonly type: 'auto' | 'any' | 'none' } | { readonly type: 'tool'; readonly name: string }

export function planTools(request: ChatRequest, planning: ToolPlanning): ToolPlan {
  const { answerTool } = planning
  const offered = offeredTools(request)
  const tools = renderTools(offered.tools, planning)
  if (answerTool === undefined) return finishPlan(tools, { choice: offered.choice, request }, planning)
  if (offered.choice?.type === 'any' || offered.choice?.type === 'tool') {
    return finishPlan(tools, { choice: offered.choice, request }, planning)
  }
  const isAlone = tools.length === 0 || offered.choice?.type === 'none'
  const choice: Choice = isAlone ? { type: 'tool', name: ANSWER_TOOL } : { type: 'any' }
  return finishPlan([...tools, answerTool], { choice, request }, planning)
}

interface Offer {
  readonly tools: readonly Tool[]
  /** Undefined if the client made no choice. */
  readonly choice: Choice | undefined
}

/** Replaces `allowed_tools` by offering only these tools, which has the same effect. */
function offeredTools({ tools = [], toolChoice, messages }: ChatRequest): Offer {
  tools.forEach(({ function: { name } }, position) => {
    if (name !== ANSWER_TOOL) return
    const param = `tools[${position}].function.name`
    throw new GatewayError('unsupported_parameter', `The tool name '${ANSWER_TOOL}' is taken.`, { param })
  })
  if (tools.length === 0) return earlierTools(messages)
  if (toolChoice === undefined) return { tools, choice: undefined }
  if (typeof toolChoice === 'string') return { tools, choice: { type: toolChoice === 'required' ? 'any' : toolChoice } }
  if (toolChoice.type === 'function') return { tools, choice: { type: 'tool', name: toolChoice.function.name } }
  const { mode, tools: allowed } = toolChoice.allowed_tools
  const names = new Set(allowed.map((tool) => tool.function.name))
  return {
    tools: tools.filter((tool) => names.has(tool.function.name)),
    choice: { type: mode === 'required' ? 'any' : 'auto' },
  }
}

/** The tools of earlier calls, which the API requires even if none may be called again. */
function earlierTools(messages: readonly ChatMessage[]): Offer {
  const names = new Set(messages.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => call.function.name)))
  if (names.size === 0) return { tools: [], choice: undefined }
  return { tools: [...names].map((name) => ({ type: 'function', function: { name } })), choice: { type: 'none' } }
}

function renderTools(tools: readonly Tool[], { traits, warnings }: ToolPlanning): readonly Block[] {
  let strictCount = 0
  return tools.map(({ function: { name, description, parameters = NO_PARAMETERS, strict } }) => {
    const input = parameters['type'] === 'object' ? parameters : { ...parameters, type: 'object' }
    const fitted = strict && traits.structuredOutput && strictCount < MAX_STRICT_TOOLS ? fitSchema(input) : undefined
    const isStrict = fitted !== undefined && !fitted.isLoosened
    if (isStrict) strictCount++
    else if (strict) warnings.add('tools[].function.strict')
    return { name, description, input_schema: isStrict ? fitted.schema : input, strict: isStrict ? true : undefined }
  })
}

interface Choosing {
  readonly choice: Choice | undefined
  readonly request: ChatRequest
}

function finishPlan(tools: readonly Block[], { choice, request }: Choosing, planning: ToolPlanning): ToolPlan {
  if (tools.length === 0) return { tools: undefined, choice: undefined, isForced: false, instruction: undefined }
  const isForced = choice?.type === 'any' || choice?.type === 'tool'
  const isSerial = request.parallelToolCalls === false
  if (isForced && !planning.traits.forcedTools) {
    planning.warnings.add('tool_choice')
    const only = choice.type === 'tool' ? tools.filter(({ name }) => name === choice.name) : tools
    const rendered = renderChoice({ type: 'auto' }, isSerial)
    return { tools: only, choice: rendered, isForced: false, instruction: instructionFor(choice) }
  }
  return { tools, choice: renderChoice(choice, isSerial), isForced, instruction: undefined }
}

function renderChoice(choice: Choice | undefined, isSerial: boolean): Block | undefined {
  if (choice === undefined && !isSerial) return undefined
  const rendered: Block = { ...(choice ?? { type: 'auto' }) }
  if (isSerial && choice?.type !== 'none') rendered['disable_parallel_tool_use'] = true
  return rendered
}

function instructionFor(choice: Choice): string {
  const which = choice.type === 'tool' ? `the tool \`${choice.name}\`` : 'at least one of the tools'
  return `Answer this turn by calling ${which}, not with text.`
}

const JSON_INSTRUCTION =
  'Answer with exactly one JSON object and nothing else: no text around it, no explanation, no code fence.'

/** The format of the answer, of which at most one field is set. */
interface AnswerFormat {
  /** `output_config.format`. */
  readonly outputFormat?: Block
  /** A tool that is called instead of an answer; its input is the answer. */
  readonly answerTool?: Block
  /** Added to the system messages. */
  readonly instruction?: string
}

/** @throws GatewayError `unsupported_parameter` for a schema that this model does not support. */
export function planFormat(
  format: ResponseFormat | undefined,
  traits: ModelTraits,
  warnings: Set<string>,
): AnswerFormat {
  if (format === undefined || format.type === 'text') return {}
  const schema = format.type === 'json_schema' ? format.json_schema.schema : undefined
  if (format.type === 'json_object' || schema === undefined) {
    warnings.add('response_format')
    return { instruction: JSON_INSTRUCTION }
  }
  const fitted = traits.structuredOutput ? fitSchema(schema) : undefined
  if (fitted !== undefined) {
    if (fitted.isLoosened) warnings.add('response_format')
    return { outputFormat: { type: 'json_schema', schema: fitted.schema } }
  }
  if (!traits.forcedTools || !isObjectSchema(schema)) throw unsupportedSchema()
  return { answerTool: renderAnswerTool(schema, format.json_schema.description) }
}

function renderAnswerTool(schema: Json, description: string | undefined): Block {
  const purpose = 'Gives the whole answer. Call it exactly once, and say nothing beside it.'
  return {
    name: ANSWER_TOOL,
    description: description === undefined ? purpose : `${purpose} ${description}`,
    input_schema: { ...schema, type: 'object' },
  }
}

/** The input of a tool is an object, so the answer must be one too. */
function isObjectSchema({ type, properties, anyOf, oneOf, allOf, $ref }: Json): boolean {
  if (type !== undefined) return type === 'object'
  return isRecord(properties) || (anyOf ?? oneOf ?? allOf ?? $ref) === undefined
}

function unsupportedSchema(): GatewayError {
  const message =
    "The provider of this model cannot hold an answer to this 'response_format': its schema is recursive, open, or of another kind that it does not take."
  return new GatewayError('unsupported_parameter', message, { param: 'response_format' })
}

const SEARCH = 'web_search_20250305'
const TOOL_TYPES = /^web_(?:search|fetch)_\d{8}$/
/** Versions that a header must enable. */
const BETAS: Readonly<Record<string, string>> = { web_fetch_20250910: 'web-fetch-2025-09-10' }
const MAX_USES = 5
const MAX_USES_BY_SIZE: Readonly<Record<string, number>> = { low: 2, medium: MAX_USES, high: 10 }

export function toolUses(request: ChatRequest): ToolUses {
  const requested = (request.serverTools ?? []).map(({ name, maxUses = MAX_USES }) => [name, maxUses] as const)
  return sumOfUses(usesSearchField(request) ? [...requested, ['web_search', maxSearches(request)]] : requested)
}

interface Sending {
  readonly target: RenderTarget
  readonly warnings: Set<string>
  readonly betas: Set<string>
}

/** @throws GatewayError `unsupported_parameter` for tools without a price, and for those that the API does not have. */
export function renderServerTools(request: ChatRequest, { target, warnings, betas }: Sending): readonly Block[] {
  const isFree = ({ name }: ServerTool): boolean =>
    nativeOf(request) !== undefined && target.price !== undefined && toolFee(name, target.price) === 0
  const tools = sentServerTools(request, target, (tool) => isLimited(tool) || isFree(tool))
  for (const { wire } of tools) {
    const beta = BETAS[String(wire['type'])]
    if (beta !== undefined) betas.add(beta)
  }
  const blocks = tools.map((tool) => {
    const { wire, name, maxUses = MAX_USES } = tool
    return isLimited(tool) ? { ...wire, name, max_uses: maxUses } : { ...wire }
  })
  if (!requestsSearch(request)) return blocks
  if (usesSearchField(request)) return [...blocks, renderSearch(request)]
  warnings.add('web_search_options')
  return blocks
}

/** Others have no `max_uses`, so they are sent only without a fee, and only as a client of this API wrote them. */
function isLimited({ wire }: ServerTool): boolean {
  return TOOL_TYPES.test(String(wire['type']))
}

/** A search tool of the request takes precedence over the field. */
function usesSearchField(request: ChatRequest): boolean {
  return requestsSearch(request) && request.serverTools?.some(isSearch) !== true
}

function isSearch({ name }: ServerTool): boolean {
  return name === 'web_search'
}

function maxSearches({ extra }: ChatRequest): number {
  const { web_search_options: options } = extra
  const size = isRecord(options) ? options['search_context_size'] : undefined
  return (typeof size === 'string' ? MAX_USES_BY_SIZE[size] : undefined) ?? MAX_USES
}

function renderSearch(request: ChatRequest): Block {
  const { web_search_options: options } = request.extra
  const location = isRecord(options) ? options['user_location'] : undefined
  const approximate = isRecord(location) && isRecord(location['approximate']) ? location['approximate'] : undefined
  const user_location = approximate === undefined ? undefined : { ...approximate, type: 'approximate' }
  return { type: SEARCH, name: 'web_search', max_uses: maxSearches(request), user_location }
}
