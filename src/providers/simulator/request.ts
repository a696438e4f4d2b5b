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

// Directives in a prompt that control the simulator: lines of a user message that begin with `simulate:`. The rest of the
// message is the prompt. docs/simulator.md has an example of each.

interface Directives {
  /** Tools to call, in order. `arguments` is JSON text; undefined: the smallest that the tool's schema allows. */
  readonly tools: readonly { readonly name: string; readonly arguments: string | undefined }[]
  readonly say: string | undefined
  /** An answer of so many tokens. */
  readonly tokens: number | undefined
  readonly reasoning: string | undefined
  readonly refusal: string | undefined
  readonly isFiltered: boolean
  /** After so many tokens; undefined: instead of an answer. */
  readonly error: { readonly status: number; readonly message: string; readonly after: number | undefined } | undefined
  /** How the answer breaks off, after so many tokens; undefined: before the first byte. */
  readonly breakOff: { readonly how: BreakOff; readonly after: number | undefined } | undefined
  /** Milliseconds a token. */
  readonly paceMs: number | undefined
  /** Milliseconds before the first byte. */
  readonly delayMs: number | undefined
  /** Prompt tokens that count as read from a cache. */
  readonly cachedTokens: number | undefined
  readonly hasUsage: boolean
  /** The prompt without its directives. */
  readonly prompt: string
}

/** A directive and its original text, without `simulate:` and without the markers of a turn. */
interface Message extends Directives {
  /** What holds for all its answers. */
  readonly lines: readonly string[]
  /** A script: the answers after this message. */
  readonly turns: readonly (readonly string[])[]
  readonly hasDirectives: boolean
}

/** `stall`: silence for ever. `cut`: the connection breaks. `close`: it ends in order, but too early. */
export type BreakOff = 'stall' | 'cut' | 'close'

/** An invalid directive. Its message lists the valid ones. */
export class DirectiveError extends Error {
  override readonly name = 'DirectiveError'
}

type Changes = { -readonly [Name in keyof Directives]: Directives[Name] } & {
  tools: { name: string; arguments: string | undefined }[]
}
type Reader = (rest: string, changes: Changes) => void

export const MAX_TOKENS = 4_096
const MAX_WAIT_MS = 600_000
const DEFAULT_MESSAGES: Readonly<Record<number, string>> = {
  400: 'The simulator was told to reject this request.',
  401: 'The simulator was told to refuse this credential.',
  429: 'The simulator was told that the rate limit is reached.',
}

const READERS: Readonly<Record<string, Reader>> = {
  say: (rest, changes) => {
    changes.say = changes.say === undefined ? rest : `${changes.say}\n${rest}`
  },
  tokens: (rest, changes) => {
    changes.tokens = parseCount('tokens', rest, MAX_TOKENS)
  },
  tool: (rest, changes) => {
    const [, name = '', json = ''] = /^([a-zA-Z0-9_-]{1,64})\s*(.*)$/.exec(rest) ?? []
    if (name === '')
      throw new DirectiveError('Write "simulate: tool NAME" or "simulate: tool NAME {"json": "arguments"}".')
    changes.tools.push({ name, arguments: json === '' ? undefined : json })
  },
  reasoning: (rest, changes) => {
    changes.reasoning = rest === '' ? 'First I read the prompt, then I think about it, then I answer.' : rest
  },
  refusal: (rest, changes) => {
    changes.refusal = rest === '' ? 'I am sorry, I cannot help with that.' : rest
  },
  filter: (_rest, changes) => {
    changes.isFiltered = true
  },
  error: (rest, changes) => {
    const [, status = '', after, message = ''] = /^([45]\d\d)(?:\s+after\s+(\d{1,4}))?(?:\s+(.+))?$/.exec(rest) ?? []
    if (status === '') throw new DirectiveError('Write "simulate: error STATUS [after TOKENS] [MESSAGE]", 400 to 599.')
    const code = Number(status)
    const text = message === '' ? (DEFAULT_MESSAGES[code] ?? 'The simulator was told to fail.') : message
    changes.error = { status: code, message: text, after: after === undefined ? undefined : Number(after) }
  },
  stall: (rest, changes) => breakOff('stall', rest, changes),
  cut: (rest, changes) => breakOff('cut', rest, changes),
  close: (rest, changes) => breakOff('close', rest, changes),
  pace: (rest, changes) => {
    changes.paceMs = parseCount('pace', rest, MAX_WAIT_MS)
  },
  delay: (rest, changes) => {
    changes.delayMs = parseCount('delay', rest, MAX_WAIT_MS)
  },
  cached: (rest, changes) => {
    changes.cachedTokens = parseCount('cached', rest, Number.MAX_SAFE_INTEGER)
  },
  usage: (rest, changes) => {
    if (rest !== 'off') throw new DirectiveError('Write "simulate: usage off".')
    changes.hasUsage = false
  },
}

/** Directives that are allowed beside a script, and apply to each of its turns. */
const SETTINGS = ['pace', 'delay', 'cached', 'usage']
const OF_SCRIPTS = ['then', 'and', 'anew']

export const DIRECTIVE_NAMES: readonly string[] = [...Object.keys(READERS), ...OF_SCRIPTS]

/** Throws `DirectiveError`. */
function parseMessage(message: string): Message {
  const prompt: string[] = []
  let lines: string[] = []
  let turns: string[][] = []
  let hasDirectives = false
  for (const line of message.split('\n')) {
    const directive = readLine(line)
    if (directive === undefined) {
      prompt.push(line)
      continue
    }
    hasDirectives = true
    const { name, rest } = directive
    if (name === 'then') turns.push([rest])
    else if (name === 'and') lastTurn(turns).push(rest)
    else if (name === 'anew') [lines, turns] = [[], []]
    else lines.push(`${name} ${rest}`.trimEnd())
  }
  checkScript(lines, turns)
  return { ...parseLines(lines, prompt.join('\n').trim()), lines, turns, hasDirectives }
}

/** @param lines Without `simulate:`. Throws `DirectiveError`. */
function parseLines(lines: readonly string[], prompt: string): Directives {
  const changes: Changes = { ...NOTHING, tools: [], prompt }
  for (const line of lines) {
    readDirective(splitName(line), changes)
  }
  return changes
}

const PREFIX = 'simulate:'

interface Directive {
  readonly name: string
  readonly rest: string
}

/** Undefined for a line that is part of the prompt. */
function readLine(line: string): Directive | undefined {
  const text = line.trim()
  return text.startsWith(PREFIX) ? splitName(text.slice(PREFIX.length)) : undefined
}

/** The first word, and the rest in one line. Without regular expressions over the rest: they would be quadratic. */
function splitName(text: string): Directive {
  const words = text.trim().replace(/[\r\u2028\u2029]/g, ' ')
  const end = words.search(/\s/)
  return end < 0 ? { name: words, rest: '' } : { name: words.slice(0, end), rest: words.slice(end).trimStart() }
}

function lastTurn(turns: readonly string[][]): string[] {
  const turn = turns.at(-1)
  if (turn === undefined) throw new DirectiveError('Write "simulate: then …" before "simulate: and …".')
  return turn
}

/** Reports errors in later turns at once. */
function checkScript(lines: readonly string[], turns: readonly (readonly string[])[]): void {
  for (const turn of turns) parseLines(turn, '')
  const stray = turns.length === 0 ? undefined : lines.find((line) => !SETTINGS.includes(line.split(' ')[0] ?? ''))
  if (stray === undefined) return
  const settings = SETTINGS.join(', ')
  throw new DirectiveError(`Write "simulate: then ${stray}": beside a script there may be ${settings} alone.`)
}

const NOTHING: Directives = {
  tools: [],
  say: undefined,
  tokens: undefined,
  reasoning: undefined,
  refusal: undefined,
  isFiltered: false,
  error: undefined,
  breakOff: undefined,
  paceMs: undefined,
  delayMs: undefined,
  cachedTokens: undefined,
  hasUsage: true,
  prompt: '',
}

function readDirective({ name, rest }: Directive, changes: Changes): void {
  const reader = Object.hasOwn(READERS, name) ? READERS[name] : undefined
  if (reader === undefined) {
    const known = DIRECTIVE_NAMES.join(', ')
    throw new DirectiveError(`The simulator knows no directive '${name.slice(0, 40)}'. It knows ${known}.`)
  }
  reader(rest, changes)
}

function breakOff(how: BreakOff, rest: string, changes: Changes): void {
  const after = rest === '' ? undefined : parseCount(how, rest, MAX_TOKENS)
  changes.breakOff = { how, after }
}

function parseCount(name: string, text: string, maximum: number): number {
  const count = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(count <= maximum)) throw new DirectiveError(`Write "simulate: ${name} N" with a number from 0 to ${maximum}.`)
  return count
}
