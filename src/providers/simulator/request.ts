import { type Directives, MAX_TOKENS, type Message, parseLines, parseMessage, readLine } from './directives.ts'

/** What the simulator looks at in a chat-completions body. */
export interface SimulatorRequest {
  readonly model: string
  readonly stream: boolean
  readonly includesUsage: boolean
  readonly n: number
  readonly maxTokens: number
  readonly stop: readonly string[]
  readonly tools: ReadonlyMap<string, JsonObject>
  /** Names of the tools of which one must be called; undefined: none must. */
  readonly requiredTools: readonly string[] | undefined
  readonly mayCallTools: boolean
  readonly parallelToolCalls: boolean
  /** Undefined: text. `schema` is undefined for any JSON object. */
  readonly json: { readonly schema: unknown } | undefined
  /** Number of alternatives of each token; undefined: no log probabilities. */
  readonly topLogprobs: number | undefined
  readonly directives: Directives
  /** Results of tools since the last user message, if they are to be answered. */
  readonly toolResults: readonly string[]
  readonly images: number
  readonly promptTokens: number
}

export type JsonObject = Readonly<Record<string, unknown>>

/** Tokens that a message costs beside its text, and an image. */
const MESSAGE_TOKENS = 4
const IMAGE_TOKENS = 85

/** Reads a body that a protocol rendered, so its shape is known; missing fields count as absent. */
export function readRequest(body: string): SimulatorRequest {
  const wire = asObject(JSON.parse(body))
  const messages = asList(wire['messages']).map(asObject)
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  const sinceUser = messages.slice(lastUser + 1)
  const tools = readTools(wire)
  const { directives, isTurn } = played(
    messages.map(({ role, content }) => ({ role, text: role === 'user' ? textOf(content) : '' })),
    tools.mayCallTools && tools.tools.size > 0,
  )
  const toolResults = sinceUser.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content))
  const maximum = Number(wire['max_completion_tokens'] ?? wire['max_tokens'] ?? MAX_TOKENS)
  return {
    model: String(wire['model']),
    stream: wire['stream'] === true,
    includesUsage: asObject(wire['stream_options'])['include_usage'] === true,
    n: Number(wire['n'] ?? 1),
    maxTokens: Math.min(MAX_TOKENS, maximum),
    stop: typeof wire['stop'] === 'string' ? [wire['stop']] : asList(wire['stop']).map(String),
    ...tools,
    json: readFormat(asObject(wire['response_format'])),
    topLogprobs: wire['logprobs'] === true ? Number(wire['top_logprobs'] ?? 0) : undefined,
    directives,
    toolResults: isTurn ? [] : toolResults,
    images: partsOf(messages[lastUser]?.['content']).filter(({ type }) => type === 'image_url').length,
    promptTokens: messages.reduce((sum, message) => sum + messageTokens(message), 0),
  }
}

function readTools(wire: JsonObject) {
  const choice = wire['tool_choice']
  const functions = asList(wire['tools']).map((tool) => asObject(asObject(tool)['function']))
  return {
    tools: new Map(functions.map((tool) => [String(tool['name']), asObject(tool['parameters'])])),
    requiredTools: requiredTools(
      choice,
      functions.map((tool) => String(tool['name'])),
    ),
    mayCallTools: choice !== 'none',
    parallelToolCalls: wire['parallel_tool_calls'] !== false,
  }
}

function requiredTools(choice: unknown, all: readonly string[]): readonly string[] | undefined {
  if (choice === 'required') return all
  const { type, function: named, allowed_tools: allowed } = asObject(choice)
  if (type === 'function') return [String(asObject(named)['name'])]
  if (type !== 'allowed_tools' || asObject(allowed)['mode'] !== 'required') return undefined
  return asList(asObject(allowed)['tools']).map((tool) => String(asObject(asObject(tool)['function'])['name']))
}

function readFormat(format: JsonObject): SimulatorRequest['json'] {
  if (format['type'] === 'json_object') return { schema: undefined }
  if (format['type'] !== 'json_schema') return undefined
  return { schema: asObject(format['json_schema'])['schema'] }
}

function messageTokens(message: JsonObject): number {
  const calls = asList(message['tool_calls']).map((call) => JSON.stringify(asObject(call)['function'] ?? ''))
  const images = partsOf(message['content']).filter(({ type }) => type === 'image_url').length
  return MESSAGE_TOKENS + countTokens(textOf(message['content']) + calls.join('')) + images * IMAGE_TOKENS
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return partsOf(content)
    .map(({ text }) => text)
    .filter((text) => typeof text === 'string')
    .join('\n')
}

function partsOf(content: unknown): JsonObject[] {
  return asList(content).map(asObject)
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

/** Words of up to eight letters or digits and single other characters, each with the white space before it. */
const PIECE = /\s*(?:[\p{L}\p{N}_]{1,8}|[^\s\p{L}\p{N}_])|\s+/gu
/** Beyond this many characters of one text, four characters count as a token: counting must stay cheap. */
const COUNTED_CHARACTERS = 16_384

/** The simulator's tokens of a text. Together they are the text. */
export function tokensOf(text: string): string[] {
  return text.match(PIECE) ?? []
}

export function countTokens(text: string): number {
  const rest = Math.max(0, text.length - COUNTED_CHARACTERS)
  return tokensOf(text.slice(0, COUNTED_CHARACTERS)).length + Math.ceil(rest / 4)
}

interface Played {
  readonly directives: Directives
  /** Whether a script determines the answer. */
  readonly isTurn: boolean
}

interface Said {
  readonly role: unknown
  /** Of users alone. */
  readonly text: string
}

/** @param offersTools Whether tools may be called. Throws `DirectiveError`. */
export function played(messages: readonly Said[], offersTools: boolean): Played {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  const last = parseMessage(messages[lastUser]?.text ?? '')
  const at = last.hasDirectives ? lastUser : messages.findLastIndex(({ text }) => hasScript(text))
  const message = at === lastUser || at < 0 ? last : parseMessage(messages[at]?.text ?? '')
  const { lines, turns } = message
  if (turns.length === 0) return { directives: last, isTurn: false }
  const done = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length
  if (callsTools(message) && !offersTools) {
    return { directives: { ...parseLines(lines, last.prompt), say: restOf(message, done) }, isTurn: true }
  }
  const turn = turns[done]
  return { directives: parseLines([...lines, ...(turn ?? [])], last.prompt), isTurn: turn !== undefined }
}

function hasScript(text: string): boolean {
  return text.includes('simulate:') && text.split('\n').some((line) => readLine(line)?.name === 'then')
}

function callsTools({ turns }: Message): boolean {
  return turns.some((turn) => turn.some((line) => line.startsWith('tool')))
}

/** A prompt that continues at the position of the script. */
function restOf({ lines, turns }: Message, done: number): string {
  const left = turns.slice(done).flatMap((turn) => turn.map((line, at) => `${at === 0 ? 'then' : 'and'} ${line}`))
  return ['This is left of the script:', ...['anew', ...lines, ...left].map((line) => `simulate: ${line}`)].join('\n')
}
