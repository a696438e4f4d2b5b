import { MAX_TOKENS } from './directives.ts'
import { type SimulatorRequest, tokensOf } from './request.ts'
import { exampleOf } from './schema-example.ts'

export interface AnswerToolCall {
  readonly id: string
  readonly name: string
  /** JSON text in tokens. */
  readonly arguments: readonly string[]
}

/** One choice, each part in tokens. */
export interface AnswerChoice {
  readonly reasoning: readonly string[]
  readonly text: readonly string[]
  readonly refusal: readonly string[]
  readonly toolCalls: readonly AnswerToolCall[]
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter'
}

export interface Answer {
  readonly id: string
  readonly choices: readonly AnswerChoice[]
  readonly usage: AnswerUsage
}

export interface AnswerUsage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly reasoningTokens: number
  readonly cachedTokens: number
}

const QUOTED_CHARACTERS = 300
const FILLER = ['lorem', ' ipsum', ' dolor', ' sit', ' amet', ' sed', ' ut', ' enim'] as const

/** The whole answer; it depends on nothing but the request. @param digest Of the request's body, for the ids. */
export function composeAnswer(request: SimulatorRequest, digest: string): Answer {
  const choices = Array.from({ length: request.n }, (_, index) => composeChoice(request, { index, digest }))
  const reasoningTokens = choices.reduce((sum, { reasoning }) => sum + reasoning.length, 0)
  const { promptTokens, directives } = request
  return {
    id: `chatcmpl-sim-${digest}`,
    choices,
    usage: {
      promptTokens,
      completionTokens: choices.reduce((sum, choice) => sum + tokensIn(choice), 0),
      reasoningTokens,
      cachedTokens: Math.min(directives.cachedTokens ?? 0, promptTokens),
    },
  }
}

function composeChoice(request: SimulatorRequest, { index, digest }: { index: number; digest: string }): AnswerChoice {
  const { directives } = request
  const calls = directives.refusal === undefined ? toolCalls(request) : []
  const isText = directives.refusal === undefined && calls.length === 0
  const whole: AnswerChoice = {
    reasoning: tokensOf(directives.reasoning ?? ''),
    text: isText ? textTokens(request, index) : [],
    refusal: tokensOf(directives.refusal ?? ''),
    toolCalls: calls.map((call, at) => ({
      id: `call_${digest}_${index}_${at}`,
      name: call.name,
      arguments: tokensOf(call.arguments),
    })),
    finish: directives.isFiltered ? 'content_filter' : calls.length > 0 ? 'tool_calls' : 'stop',
  }
  return tokensIn(whole) > request.maxTokens ? truncate(whole, request.maxTokens) : whole
}

function truncate(choice: AnswerChoice, maxTokens: number): AnswerChoice {
  let left = maxTokens
  const take = (tokens: readonly string[]): readonly string[] => {
    const taken = tokens.slice(0, left)
    left -= taken.length
    return taken
  }
  const reasoning = take(choice.reasoning)
  const text = take(choice.text)
  const refusal = take(choice.refusal)
  const toolCalls: AnswerToolCall[] = []
  for (const call of choice.toolCalls) {
    if (left === 0) break
    left -= 1
    toolCalls.push({ ...call, arguments: take(call.arguments) })
  }
  return { reasoning, text, refusal, toolCalls, finish: 'length' }
}

/** A tool call counts its arguments and one token for its name. */
function tokensIn({ reasoning, text, refusal, toolCalls }: AnswerChoice): number {
  const called = toolCalls.reduce((sum, call) => sum + 1 + call.arguments.length, 0)
  return reasoning.length + text.length + refusal.length + called
}

function toolCalls(request: SimulatorRequest): { name: string; arguments: string }[] {
  const { tools, requiredTools, directives, toolResults } = request
  if (!request.mayCallTools) return []
  const asked = toolResults.length === 0 ? directives.tools : []
  const required = requiredTools && new Set(requiredTools)
  const allowed = required === undefined ? asked : asked.filter(({ name }) => required.has(name))
  const [first] = requiredTools ?? []
  const chosen = allowed.length === 0 && first !== undefined ? [{ name: first, arguments: undefined }] : allowed
  return chosen
    .slice(0, request.parallelToolCalls ? chosen.length : 1)
    .map(({ name, arguments: json }) => ({ name, arguments: json ?? smallestArguments(tools.get(name)) }))
}

function smallestArguments(schema: unknown): string {
  const example = schema === undefined ? {} : exampleOf(schema)
  return JSON.stringify(typeof example === 'object' ? (example ?? {}) : {})
}

function textTokens(request: SimulatorRequest, index: number): string[] {
  const { directives, json } = request
  if (json !== undefined) return tokensOf(jsonText(request))
  if (directives.tokens !== undefined) return fill(Math.min(directives.tokens, MAX_TOKENS))
  const text = directives.say ?? plainText(request) + (index === 0 ? '' : ` [choice ${index + 1}]`)
  return tokensOf(beforeStop(text, request.stop))
}

function fill(count: number): string[] {
  return Array.from({ length: count }, (_, at) => (at === 0 ? FILLER[0] : (FILLER[at % FILLER.length] ?? ' sed')))
}

function beforeStop(text: string, stop: readonly string[]): string {
  const ends = stop.map((word) => text.indexOf(word)).filter((at) => at >= 0)
  return text.slice(0, Math.min(text.length, ...ends))
}

function jsonText(request: SimulatorRequest): string {
  const { say } = request.directives
  if (say !== undefined && isJson(say)) return say
  if (request.json?.schema !== undefined) return JSON.stringify(exampleOf(request.json.schema))
  return JSON.stringify({ answer: say ?? plainText(request) })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function plainText({ directives, toolResults, images }: SimulatorRequest): string {
  if (toolResults.length > 0) return `The tool answered: ${toolResults.map(quote).join(', ')}.`
  const heard = directives.prompt === '' ? '' : `You wrote ${quote(directives.prompt)}. `
  const seen = images === 0 ? '' : `You sent ${images === 1 ? 'an image' : `${images} images`}. `
  return (
    `Hello from Turnpike's simulator: your client, your key and this gateway work together. ${heard}${seen}` +
    'No model has thought about that. To talk to a real one, add a provider in the dashboard, or set its key, such as ' +
    'OPENAI_API_KEY, and start Turnpike again. Then choose a model from GET /v1/models.'
  )
}

function quote(text: string): string {
  return JSON.stringify(text.length > QUOTED_CHARACTERS ? `${text.slice(0, QUOTED_CHARACTERS)}…` : text)
}
