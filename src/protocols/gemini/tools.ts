/**
 * Renders functions, the choice among them, and tools that run at the API; `web_search_options`, OpenAI's field for a
 * search, becomes grounding with Google Search.
 *
 * Source: Gemini API, "Grounding with Google Search": models before Gemini 3 are charged for each prompt that was
 * grounded, later ones for each search query that is not empty; no maximum is published. "Code execution" and "URL
 * context": tokens alone.
 */
import type { ChatRequest, Tool, ToolChoice } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { unsupportedParameter } from '../parameters.ts'
import type { RenderTarget } from '../protocol.ts'
import {
  addCitation,
  DEFAULT_USE_LIMIT,
  requestsSearch,
  sentServerTools,
  type ToolUse,
  type ToolUses,
  type UrlCitation,
} from '../server-tools.ts'
import { renderSchema } from './schema.ts'

/** Source: https://ai.google.dev/api/caching#FunctionDeclaration */
const FUNCTION_NAME = /^[A-Za-z_][\w.:-]{0,127}$/

export interface ToolSettings {
  /** Whether structured output can be combined with functions. */
  readonly formatsWithTools: boolean
  /** Tools that run at the API, rendered. */
  readonly serverTools: readonly Json[]
  readonly warnings: Set<string>
}

/** @returns the body's `tools` and `toolConfig`; absent in requests without tools. */
export function renderTools(request: ChatRequest, settings: ToolSettings): Json {
  const { tools = [], toolChoice: choice, responseFormat: format } = request
  const isFormatted = format !== undefined && format.type !== 'text'
  if (tools.length > 0 && isFormatted && !settings.formatsWithTools) {
    if (choice !== 'none') throw unsupportedParameter('response_format')
    return {}
  }
  const { serverTools } = settings
  if (tools.length === 0 && (choice === undefined || choice === 'none' || choice === 'auto')) {
    return serverTools.length === 0 ? {} : { tools: serverTools }
  }
  const offered = offeredNames(choice)
  const functionDeclarations = tools.flatMap((tool, position) => {
    const isOffered = offered === undefined || offered.has(tool.function.name)
    return isOffered ? renderDeclaration(tool.function, `tools[${position}].function`, settings.warnings) : []
  })
  return {
    tools: unlessEmpty([...(functionDeclarations.length > 0 ? [{ functionDeclarations }] : []), ...serverTools]),
    toolConfig: choice === undefined ? undefined : { functionCallingConfig: renderChoice(choice) },
  }
}

function unlessEmpty(tools: readonly Json[]): readonly Json[] | undefined {
  return tools.length === 0 ? undefined : tools
}

/** Functions to send if the model may call only some of them and need not. Undefined: all. */
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

/** A function without parameters has no `parametersJsonSchema` rather than an empty object. */
function renderDeclaration(called: Tool['function'], path: string, warnings: Set<string>): Json {
  const { name, description, parameters = {}, strict } = called
  if (!FUNCTION_NAME.test(name)) throw unsupportedParameter(`${path}.name`)
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

/** The wire names by the name in prices. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  web_search: 'googleSearch',
  code_execution: 'codeExecution',
  url_context: 'urlContext',
}
const CHARGED_BY_PROMPT = /gemini-(?:1|2)\./

export function toolUses(request: ChatRequest, model: string): ToolUses {
  const uses: Record<string, ToolUse> = {}
  for (const { name } of request.serverTools ?? []) uses[name] = { limit: undefined }
  if (uses['web_search'] !== undefined || requestsSearch(request)) {
    uses['web_search'] = CHARGED_BY_PROMPT.test(model) ? { limit: 1, counted: 'calls' } : { limit: DEFAULT_USE_LIMIT }
  }
  return uses
}

/**
 * Returns entries of the body's `tools`.
 * @throws GatewayError `unsupported_parameter` for tools that must not be sent.
 */
export function renderServerTools(request: ChatRequest, target: RenderTarget, warnings: Set<string>): readonly Json[] {
  const tools = sentServerTools(request, target, ({ name }) => Object.hasOwn(WIRE_NAMES, name)).map(
    ({ name, wire }) => {
      const settings = Object.values(wire).find(isRecord)
      return [String(WIRE_NAMES[name]), settings ?? {}] as const
    },
  )
  if (!requestsSearch(request)) return tools.map((entry) => Object.fromEntries([entry]))
  const { web_search_options: options } = request.extra
  const hasSearch = tools.some(([name]) => name === WIRE_NAMES['web_search'])
  if (hasSearch || (isRecord(options) && Object.keys(options).length > 0)) warnings.add('web_search_options')
  const all = hasSearch ? tools : [...tools, [String(WIRE_NAMES['web_search']), {}] as const]
  return all.map((entry) => Object.fromEntries([entry]))
}

/** Adds the search queries of the candidate, up to a maximum. */
export function addQueries(queries: Set<string>, { groundingMetadata: metadata }: Json): void {
  const made = isRecord(metadata) ? metadata.webSearchQueries : undefined
  if (!Array.isArray(made)) return
  for (const query of made) {
    if (typeof query === 'string' && query.trim() !== '' && queries.size < MAX_QUERIES) queries.add(query)
  }
}

const MAX_QUERIES = 1000

/**
 * The pages that ground the candidate. Their positions are in bytes of a text that is not kept: each applies to the
 * whole.
 */
export function groundingPages({ groundingMetadata: metadata }: Json, textLength: number): readonly UrlCitation[] {
  const pages: UrlCitation[] = []
  const chunks = isRecord(metadata) ? metadata.groundingChunks : undefined
  if (!Array.isArray(chunks)) return pages
  for (const chunk of chunks) {
    const web = isRecord(chunk) && isRecord(chunk.web) ? chunk.web : {}
    addCitation(pages, { start_index: 0, end_index: textLength, url: textOf(web.uri), title: textOf(web.title) })
  }
  return pages
}
