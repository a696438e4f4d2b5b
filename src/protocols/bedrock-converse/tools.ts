/** Tools, the choice among them, and the tool that stands for an answer in JSON. */
import type { ChatRequest, ResponseFormat, Tool } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import { holdsToSchema, type ModelFamily } from './models.ts'
import { ANSWER_TOOL } from './wire.ts'

type Choice = { readonly auto: Json } | { readonly any: Json } | { readonly tool: { readonly name: string } }

export interface ToolPlan {
  readonly tools: readonly Json[]
  readonly choice: Choice | undefined
  /** Whether a tool call is demanded. */
  readonly forced: boolean
  /** For `outputConfig`; undefined: none. */
  readonly outputConfig: Json | undefined
  /** For `additionalModelRequestFields`. */
  readonly fields: Json
  /** For the system prompt. */
  readonly instructions: readonly string[]
}

export interface ToolInput {
  readonly request: ChatRequest
  readonly family: ModelFamily
  readonly warnings: Set<string>
}

const JSON_INSTRUCTION = 'Answer with one JSON object and nothing else: no text around it, no code fence.'
const ANSWER_DESCRIPTION = 'Gives the answer to the user. Its input is the whole answer.'

/** @throws GatewayError `unsupported_parameter` for a choice or a count of calls that the model cannot be held to. */
export function planTools(input: ToolInput): ToolPlan {
  const { request, family, warnings } = input
  const offered = offeredTools(request)
  if (offered.tools.some((tool) => tool.function.strict === true)) warnings.add('tools[].function.strict')
  const format = planFormat(input, offered.mode === 'none' ? [] : offered.tools)
  const tools = [...(offered.mode === 'none' ? [] : offered.tools.map(renderTool)), ...format.tools]
  const choice = tools.length === 0 ? undefined : (format.choice ?? renderChoice(offered))
  const forced = choice !== undefined && !('auto' in choice)
  if (forced && family.kind === 'claude' && !family.traits.forcedTools) {
    throw unsupported(format.choice === undefined ? 'tool_choice' : 'response_format')
  }
  const { outputConfig, instructions } = format
  const serial = request.parallelToolCalls === false && tools.length > format.tools.length
  const spoken = serial ? serialChoice(family, choice) : { choice, fields: {} }
  return { tools, forced, outputConfig, instructions, ...spoken }
}

interface OfferedTools {
  readonly tools: readonly Tool[]
  /** Undefined: the client did not say. */
  readonly mode: 'none' | 'auto' | 'required' | undefined
  /** The one tool to be called. */
  readonly name?: string
}

/** `allowed_tools` is the same as offering only these tools. */
function offeredTools({ tools = [], toolChoice: choice }: ChatRequest): OfferedTools {
  if (tools.some((tool) => tool.function.name === ANSWER_TOOL)) {
    throw new GatewayError('invalid_value', `No tool may be called '${ANSWER_TOOL}'.`, { param: 'tools' })
  }
  if (tools.length === 0) {
    if (choice === undefined || choice === 'none' || choice === 'auto') return { tools, mode: undefined }
    throw new GatewayError('invalid_value', '`tool_choice` demands a tool, but there are no `tools`.', {
      param: 'tool_choice',
    })
  }
  if (typeof choice !== 'object') return { tools, mode: choice }
  if (choice.type === 'function') return { tools, mode: 'required', name: choice.function.name }
  const names = new Set(choice.allowed_tools.tools.map((tool) => tool.function.name))
  return { tools: tools.filter((tool) => names.has(tool.function.name)), mode: choice.allowed_tools.mode }
}

function renderTool({ function: { name, description, parameters } }: Tool): Json {
  const schema = parameters ?? { type: 'object', properties: {} }
  const inputSchema = { json: schema['type'] === undefined ? { type: 'object', ...schema } : schema }
  return { toolSpec: { name, ...(description ? { description } : {}), inputSchema } }
}

function renderChoice({ mode, name }: OfferedTools): Choice | undefined {
  if (name !== undefined) return { tool: { name } }
  if (mode === 'required') return { any: {} }
  return mode === 'auto' ? { auto: {} } : undefined
}

/** One call at a time is a word of one maker; it goes with no choice in the service's own words. */
function serialChoice(family: ModelFamily, choice: Choice | undefined): Pick<ToolPlan, 'choice' | 'fields'> {
  if (family.kind !== 'claude') throw unsupported('parallel_tool_calls')
  const kind = choice === undefined || 'auto' in choice ? 'auto' : 'any' in choice ? 'any' : 'tool'
  const name = choice !== undefined && 'tool' in choice ? { name: choice.tool.name } : {}
  return { choice: undefined, fields: { tool_choice: { type: kind, ...name, disable_parallel_tool_use: true } } }
}

interface FormatPlan extends Pick<ToolPlan, 'tools' | 'outputConfig' | 'instructions'> {
  readonly choice: Choice | undefined
}
const PLAIN: FormatPlan = { tools: [], choice: undefined, outputConfig: undefined, instructions: [] }

/** Models that cannot be held to a schema are made to call a tool with it, beside the client's own where it has some. */
function planFormat({ request, family, warnings }: ToolInput, tools: readonly Tool[]): FormatPlan {
  const { responseFormat: format, toolChoice: choice } = request
  if (format === undefined || format.type === 'text') return PLAIN
  if (format.type === 'json_object' || format.json_schema.schema === undefined) {
    warnings.add('response_format')
    return { ...PLAIN, instructions: [JSON_INSTRUCTION] }
  }
  if (holdsToSchema(family)) return { ...PLAIN, outputConfig: outputConfig(format) }
  const isCallDemanded = tools.length > 0 && choice !== undefined && choice !== 'auto'
  if (isCallDemanded) return PLAIN
  warnings.add('response_format')
  const answer = {
    toolSpec: { name: ANSWER_TOOL, description: ANSWER_DESCRIPTION, inputSchema: { json: format.json_schema.schema } },
  }
  return { ...PLAIN, tools: [answer], choice: tools.length === 0 ? { tool: { name: ANSWER_TOOL } } : { any: {} } }
}

function outputConfig({ json_schema: format }: ResponseFormat & { readonly type: 'json_schema' }): Json {
  const { name, description, schema } = format
  const jsonSchema = { schema: JSON.stringify(schema), name, ...(description ? { description } : {}) }
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The provider of this model does not support '${param}'.`, { param })
}
