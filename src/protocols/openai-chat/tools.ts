/** The tools on offer, and whether one of them must be called, as far as the host has words for it. */
import type { ChatRequest, Tool, ToolChoice } from '../../domain/chat.ts'
import type { Json } from '../../lib/json.ts'
import { unsupported } from './messages.ts'
import type { OpenAiChatOptions } from './options.ts'

/** Undefined where unsaid. */
export interface ToolOffer {
  readonly tools: readonly unknown[] | undefined
  /** `tool_choice` in the host's words. */
  readonly choice: ToolChoice | string | Json | undefined
}

interface Offer {
  readonly tools: readonly Tool[]
  readonly choice: ToolChoice | undefined
}

/** @throws GatewayError `unsupported_parameter` for demands that the host has no words for. */
export function renderTools(
  { tools, toolChoice }: ChatRequest,
  options: OpenAiChatOptions,
  warnings: Set<string>,
): ToolOffer {
  if (tools === undefined || tools.length === 0) {
    return { tools: undefined, choice: toolChoice === 'none' || toolChoice === 'auto' ? undefined : toolChoice }
  }
  const areRefused = options.refused?.includes('tools') ?? false
  if (toolChoice === 'none' && (areRefused || options.toolChoices?.includes('none') === false)) {
    warnings.add('tool_choice')
    return { tools: undefined, choice: undefined }
  }
  if (areRefused) throw unsupported('tools')
  if (tools.some(isCustom)) {
    if (options.customTools) return customOffer({ tools, choice: toolChoice })
    throw unsupported(`tools[${tools.findIndex(isCustom)}].type`)
  }
  const offer = sayChoice(narrowTools({ tools, choice: toolChoice }, options), options)
  const choice = offer.choice === 'required' ? (options.requiredToolChoice ?? 'required') : offer.choice
  return { tools: options.toolParameters ? offer.tools.map(withParameters) : offer.tools, choice }
}

/** `allowed_tools` is the same as offering only these tools. */
function narrowTools({ tools, choice }: Offer, options: OpenAiChatOptions): Offer {
  if (options.allowedTools || typeof choice !== 'object' || choice.type !== 'allowed_tools') return { tools, choice }
  const { mode, tools: allowed } = choice.allowed_tools
  const names = new Set(allowed.map((tool) => tool.function.name))
  return { tools: tools.filter((tool) => names.has(tool.function.name)), choice: mode }
}

/** To demand one tool of one, and to demand that one by its name, is the same. */
function sayChoice({ tools, choice }: Offer, { toolChoices }: OpenAiChatOptions): Offer {
  const named = typeof choice === 'object' && choice.type === 'function' ? choice.function.name : undefined
  const kind = named === undefined ? choice : 'function'
  if (toolChoices === undefined || (kind !== 'required' && kind !== 'function')) return { tools, choice }
  if (toolChoices.includes(kind)) return { tools, choice }
  const [only] = tools
  if (kind === 'function' && toolChoices.includes('required')) {
    return { tools: tools.filter((tool) => tool.function.name === named), choice: 'required' }
  }
  if (kind === 'required' && toolChoices.includes('function') && only !== undefined && tools.length === 1) {
    return { tools, choice: { type: 'function', function: { name: only.function.name } } }
  }
  throw unsupported('tool_choice')
}

/** A tool that says no parameters has none. */
function withParameters(tool: Tool): Tool {
  if (tool.function.parameters !== undefined) return tool
  return { ...tool, function: { ...tool.function, parameters: { type: 'object', properties: {} } } }
}

export function isCustom({ custom }: Tool): boolean {
  return custom !== undefined
}

/** With custom tools, in the words of the only host that has them. */
function customOffer({ tools, choice }: Offer): ToolOffer {
  const names = new Set(tools.filter(isCustom).map((tool) => tool.function.name))
  return { tools: tools.map(renderTool), choice: typeof choice === 'object' ? renderChoice(choice, names) : choice }
}

function renderTool(tool: Tool): unknown {
  const { function: described, custom } = tool
  return custom === undefined ? tool : { type: 'custom', custom: { ...described, ...custom } }
}

function renderChoice(choice: Exclude<ToolChoice, string>, custom: ReadonlySet<string>): Json {
  if (choice.type === 'function') return renderNamed(choice.function.name, custom)
  const { mode, tools } = choice.allowed_tools
  const named = tools.map((tool) => renderNamed(tool.function.name, custom))
  return { type: 'allowed_tools', allowed_tools: { mode, tools: named } }
}

function renderNamed(name: string, custom: ReadonlySet<string>): Json {
  return custom.has(name) ? { type: 'custom', custom: { name } } : { type: 'function', function: { name } }
}
