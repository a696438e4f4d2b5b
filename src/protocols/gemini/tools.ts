/** The functions that a model may call, and whether it may or must. */
import type { ChatRequest, Tool, ToolChoice } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Json } from '../../lib/json.ts'
import { renderSchema } from './schema.ts'

/** Source: https://ai.google.dev/api/caching#FunctionDeclaration */
const FUNCTION_NAME = /^[A-Za-z_][\w.:-]{0,127}$/

export interface ToolSettings {
  /** Whether structured output and functions go together. */
  readonly formatsWithTools: boolean
  readonly warnings: Set<string>
}

/** @returns the body's `tools` and `toolConfig`, absent where nothing is said of tools. */
export function renderTools(request: ChatRequest, settings: ToolSettings): Json {
  const { tools = [], toolChoice: choice, responseFormat: format } = request
  const isFormatted = format !== undefined && format.type !== 'text'
  if (tools.length > 0 && isFormatted && !settings.formatsWithTools) {
    if (choice !== 'none') throw unsupported('response_format')
    return {}
  }
  if (tools.length === 0 && (choice === undefined || choice === 'none' || choice === 'auto')) return {}
  const offered = offeredNames(choice)
  const functionDeclarations = tools.flatMap((tool, position) => {
    const isOffered = offered === undefined || offered.has(tool.function.name)
    return isOffered ? renderDeclaration(tool.function, `tools[${position}].function`, settings.warnings) : []
  })
  return {
    tools: functionDeclarations.length > 0 ? [{ functionDeclarations }] : undefined,
    toolConfig: choice === undefined ? undefined : { functionCallingConfig: renderChoice(choice) },
  }
}

/** Where the model may call some of the functions but need not, it is shown no others. Undefined: all. */
function offeredNames(choice: ToolChoice | undefined): ReadonlySet<string> | undefined {
  if (typeof choice !== 'object' || choice.type !== 'allowed_tools' || choice.allowed_tools.mode !== 'auto')
    return undefined
  return new Set(choice.allowed_tools.tools.map((tool) => tool.function.name))
}

function renderChoice(choice: ToolChoice): Json {
  if (choice === 'none') return { mode: 'NONE' }
  if (choice === 'auto') return { mode: 'AUTO' }
  if (choice === 'required') return { mode: 'ANY' }
  if (choice.type === 'function') return { mode: 'ANY', allowedFunctionNames: [choice.function.name] }
  const { mode, tools } = choice.allowed_tools
  if (mode === 'auto') return { mode: 'AUTO' }
  return { mode: 'ANY', allowedFunctionNames: tools.map((tool) => tool.function.name) }
}

/** A function without parameters has none, not an empty object of them. */
function renderDeclaration(called: Tool['function'], path: string, warnings: Set<string>): Json {
  const { name, description, parameters = {}, strict } = called
  if (!FUNCTION_NAME.test(name)) throw unsupported(`${path}.name`)
  if (strict === true) warnings.add('tools[].function.strict')
  return {
    name,
    description: description || undefined,
    parametersJsonSchema: takesNothing(parameters)
      ? undefined
      : renderSchema(parameters, `${path}.parameters`, warnings),
  }
}

function takesNothing({ type, properties, additionalProperties, ...rest }: Json): boolean {
  const named = typeof properties === 'object' && properties !== null ? Object.keys(properties).length : 0
  const isOpen = additionalProperties !== undefined && additionalProperties !== false
  const { required, $schema, title, description, ...others } = rest
  return named === 0 && !isOpen && Object.keys(others).length === 0
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', `The provider of this model does not support '${param}'.`, { param })
}
