/** Tools and the choice among them. */
import type { ChatMessage, ChatRequest, Tool } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { ModelTraits } from './models.ts'
import { fitSchema } from './schema.ts'
import { ANSWER_TOOL, type Block } from './wire.ts'

/** The API's own limit. */
const MAX_STRICT_TOOLS = 20
const NO_PARAMETERS = { type: 'object', properties: {} } as const

export interface ToolPlan {
  /** Undefined: none. */
  readonly tools: readonly Block[] | undefined
  readonly choice: Block | undefined
  /** Whether a call is demanded. */
  readonly isForced: boolean
  /** Said to models of which a call cannot be demanded. */
  readonly instruction: string | undefined
}

export interface ToolPlanning {
  readonly traits: ModelTraits
  /** Stands for the answer, where the answer must have a form. */
  readonly answerTool: Block | undefined
  readonly warnings: Set<string>
}

/** What the client wants of the model. */
type Wish = { readonly type: 'auto' | 'any' | 'none' } | { readonly type: 'tool'; readonly name: string }

export function planTools(request: ChatRequest, planning: ToolPlanning): ToolPlan {
  const { answerTool } = planning
  const offered = offeredTools(request)
  const tools = renderTools(offered.tools, planning)
  if (answerTool === undefined) return finishPlan(tools, { wish: offered.wish, request }, planning)
  if (offered.wish?.type === 'any' || offered.wish?.type === 'tool') {
    return finishPlan(tools, { wish: offered.wish, request }, planning)
  }
  const isAlone = tools.length === 0 || offered.wish?.type === 'none'
  const wish: Wish = isAlone ? { type: 'tool', name: ANSWER_TOOL } : { type: 'any' }
  return finishPlan([...tools, answerTool], { wish, request }, planning)
}

interface Offer {
  readonly tools: readonly Tool[]
  /** Undefined: the client did not say. */
  readonly wish: Wish | undefined
}

/** `allowed_tools` is the same as offering only these tools. */
function offeredTools({ tools = [], toolChoice, messages }: ChatRequest): Offer {
  tools.forEach(({ function: { name } }, position) => {
    if (name !== ANSWER_TOOL) return
    const param = `tools[${position}].function.name`
    throw new GatewayError('unsupported_parameter', `The tool name '${ANSWER_TOOL}' is taken.`, { param })
  })
  if (tools.length === 0) return rememberedTools(messages)
  if (toolChoice === undefined) return { tools, wish: undefined }
  if (typeof toolChoice === 'string') return { tools, wish: { type: toolChoice === 'required' ? 'any' : toolChoice } }
  if (toolChoice.type === 'function') return { tools, wish: { type: 'tool', name: toolChoice.function.name } }
  const { mode, tools: allowed } = toolChoice.allowed_tools
  const names = new Set(allowed.map((tool) => tool.function.name))
  return {
    tools: tools.filter((tool) => names.has(tool.function.name)),
    wish: { type: mode === 'required' ? 'any' : 'auto' },
  }
}

/** The API wants to know the tools of earlier calls, even if none may be called any more. */
function rememberedTools(messages: readonly ChatMessage[]): Offer {
  const names = new Set(messages.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => call.function.name)))
  if (names.size === 0) return { tools: [], wish: undefined }
  return { tools: [...names].map((name) => ({ type: 'function', function: { name } })), wish: { type: 'none' } }
}

function renderTools(tools: readonly Tool[], { traits, warnings }: ToolPlanning): readonly Block[] {
  let strictCount = 0
  return tools.map(({ function: { name, description, parameters = NO_PARAMETERS, strict } }) => {
    const input = parameters['type'] === 'object' ? parameters : { ...parameters, type: 'object' }
    const fitted = strict && traits.structuredOutput && strictCount < MAX_STRICT_TOOLS ? fitSchema(input) : undefined
    const isStrict = fitted !== undefined && !fitted.isBent
    if (isStrict) strictCount++
    else if (strict) warnings.add('tools[].function.strict')
    return { name, description, input_schema: isStrict ? fitted.schema : input, strict: isStrict ? true : undefined }
  })
}

interface Wanted {
  readonly wish: Wish | undefined
  readonly request: ChatRequest
}

function finishPlan(tools: readonly Block[], { wish, request }: Wanted, planning: ToolPlanning): ToolPlan {
  if (tools.length === 0) return { tools: undefined, choice: undefined, isForced: false, instruction: undefined }
  const isForced = wish?.type === 'any' || wish?.type === 'tool'
  const isSerial = request.parallelToolCalls === false
  if (isForced && !planning.traits.forcedTools) {
    planning.warnings.add('tool_choice')
    const only = wish.type === 'tool' ? tools.filter(({ name }) => name === wish.name) : tools
    const choice = renderChoice({ type: 'auto' }, isSerial)
    return { tools: only, choice, isForced: false, instruction: demand(wish) }
  }
  return { tools, choice: renderChoice(wish, isSerial), isForced, instruction: undefined }
}

function renderChoice(wish: Wish | undefined, isSerial: boolean): Block | undefined {
  if (wish === undefined && !isSerial) return undefined
  const choice: Block = { ...(wish ?? { type: 'auto' }) }
  if (isSerial && wish?.type !== 'none') choice['disable_parallel_tool_use'] = true
  return choice
}

function demand(wish: Wish): string {
  const which = wish.type === 'tool' ? `the tool \`${wish.name}\`` : 'at least one of the tools'
  return `Answer this turn by calling ${which}, not with text.`
}
