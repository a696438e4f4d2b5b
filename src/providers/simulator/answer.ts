import { asObject, type JsonObject, MAX_TOKENS, type SimulatorRequest, tokensOf } from './request.ts'

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

// A small value that a JSON Schema allows. It understands what tool and answer schemas are made of: types, `const`,
// `enum`, properties, items, bounds, `format`, `anyOf`, `oneOf`, `allOf` and references within the schema. It does not
// look at `pattern`, `not`, `if`, `uniqueItems` and dependencies. A schema is data and is never compiled.

/**
 * Work for one schema: values made, fields and branches read, and text copied (`CHARACTERS_OF_WORK` for one). When it is
 * used up everything is null, so that hostile schemas end too, and answers stay in proportion.
 */
const MAX_WORK = 20_000
const CHARACTERS_OF_WORK = 64
/** From this depth on, alternatives that end at once are preferred. */
const DEEP = 6
const MAX_DEPTH = 40
const MAX_LENGTH = 10_000

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'someone@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

interface Walk {
  readonly root: unknown
  readonly depth: number
  readonly budget: { left: number }
}

export function exampleOf(schema: unknown): unknown {
  return make(schema, { root: schema, depth: 0, budget: { left: MAX_WORK } })
}

function make(given: unknown, walk: Walk): unknown {
  if (!spend(walk, 1) || walk.depth > MAX_DEPTH) return null
  const schema = resolve(given, walk)
  const { const: constant, enum: choices, anyOf, oneOf } = schema
  if (constant !== undefined) return copyOf(constant, walk)
  if (Array.isArray(choices) && choices.length > 0) return copyOf(choices[0], walk)
  const branches = Array.isArray(anyOf) ? anyOf : oneOf
  if (!Array.isArray(branches) || branches.length === 0) return makeTyped(schema, walk)
  const { anyOf: _anyOf, oneOf: _oneOf, ...common } = schema
  return make(merge(common, resolve(chooseBranch(branches, walk), walk), walk), deeper(walk))
}

/** @returns false once the budget is used up. */
function spend({ budget }: Walk, work: number): boolean {
  budget.left -= work
  return budget.left >= 0
}

/** A value of the schema; null where the answer would repeat large ones too often. */
function copyOf(value: unknown, walk: Walk): unknown {
  return spend(walk, sizeOf(value) / CHARACTERS_OF_WORK) ? value : null
}

function sizeOf(value: unknown): number {
  return typeof value === 'object' ? JSON.stringify(value).length : String(value).length
}

/** Follows references and merges `allOf`; stops at an implausibly long chain of references. */
function resolve(given: unknown, walk: Walk): JsonObject {
  let schema = asObject(given)
  for (let hops = 0; typeof schema['$ref'] === 'string' && hops < 20; hops++) {
    const { $ref: reference, ...siblings } = schema
    if (!spend(walk, String(reference).length / CHARACTERS_OF_WORK)) return {}
    schema = merge(asObject(lookUp(String(reference), walk.root)), siblings, walk)
  }
  const { allOf, ...rest } = schema
  if (!Array.isArray(allOf)) return schema
  let sum: JsonObject = rest
  for (const part of allOf) {
    if (walk.budget.left < 0 || walk.depth > MAX_DEPTH) break
    sum = merge(sum, resolve(part, deeper(walk)), walk)
  }
  return sum
}

/** @param reference A JSON pointer behind `#`. */
function lookUp(reference: string, root: unknown): unknown {
  const keys = reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter((key) => key !== '')
  return keys.reduce<unknown>((value, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) return value[Number(name)]
    return Object.hasOwn(asObject(value), name) ? asObject(value)[name] : undefined
  }, root)
}

/** Cost of a merge, which copies all fields of both. */
function merge(one: JsonObject, other: JsonObject, walk: Walk): JsonObject {
  const properties = [asObject(one['properties']), asObject(other['properties'])] as const
  const required = [namesIn(one['required']), namesIn(other['required'])].flat()
  const fields = [one, other, ...properties].reduce((sum, each) => sum + Object.keys(each).length, required.length)
  if (!spend(walk, fields)) return {}
  return { ...one, ...other, properties: { ...properties[0], ...properties[1] }, required: [...new Set(required)] }
}

function chooseBranch(branches: readonly unknown[], walk: Walk): unknown {
  if (walk.depth < DEEP) return branches[0]
  return branches.find((branch) => !spend(walk, 1) || endsAtOnce(resolve(branch, walk))) ?? branches[0]
}

function endsAtOnce(schema: JsonObject): boolean {
  if (schema['const'] !== undefined || schema['enum'] !== undefined) return true
  return ['string', 'integer', 'number', 'boolean', 'null'].includes(typeOf(schema) ?? '')
}

function makeTyped(schema: JsonObject, walk: Walk): unknown {
  switch (typeOf(schema)) {
    case 'object':
      return makeObject(schema, walk)
    case 'array':
      return makeArray(schema, walk)
    case 'string':
      return copyOf(makeString(schema), walk)
    case 'integer':
      return makeNumber(schema, 1)
    case 'number':
      return makeNumber(schema, 0)
    case 'boolean':
      return true
    default:
      return null
  }
}

function typeOf({ type, properties, required, items, prefixItems }: JsonObject): string | undefined {
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return type.find((name) => name !== 'null') ?? 'null'
  if (Object.keys(asObject(properties)).length > 0 || namesIn(required).length > 0) return 'object'
  return items === undefined && prefixItems === undefined ? undefined : 'array'
}

function makeObject({ properties, required }: JsonObject, walk: Walk): JsonObject {
  const schemas = asObject(properties)
  const names = namesIn(required)
  if (!spend(walk, names.length)) return {}
  return Object.fromEntries(names.map((name) => [name, make(schemas[name], deeper(walk))]))
}

function makeArray({ items, prefixItems, minItems }: JsonObject, walk: Walk): unknown[] {
  const first = Array.isArray(prefixItems) ? prefixItems : []
  const length = Math.min(Math.max(first.length, Number(minItems ?? 0)), MAX_LENGTH, Math.max(0, walk.budget.left))
  return Array.from({ length }, (_, at) => make(first[at] ?? items, deeper(walk)))
}

function makeString({ format, minLength, maxLength }: JsonObject): string {
  if (typeof format === 'string' && Object.hasOwn(FORMATS, format)) return FORMATS[format] ?? ''
  const text = 'text'.padEnd(Math.min(Number(minLength ?? 0), MAX_LENGTH), 'text')
  return text.slice(0, Number(maxLength ?? text.length))
}

/** The smallest that is allowed at or above zero, else the largest below. @param step 1 for integers, 0 for any. */
function makeNumber(schema: JsonObject, step: number): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema
  const grid = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : step
  const nudge = grid === 0 ? 0.5 : grid
  const low = Math.max(Number(minimum ?? -Infinity), Number(exclusiveMinimum ?? -Infinity))
  const high = Math.min(Number(maximum ?? Infinity), Number(exclusiveMaximum ?? Infinity))
  const tooLow = (value: number) => value < low || value === exclusiveMinimum
  const tooHigh = (value: number) => value > high || value === exclusiveMaximum
  const onGrid = (value: number, round: (value: number) => number) => (grid === 0 ? value : round(value / grid) * grid)
  let value = onGrid(tooLow(0) ? low : tooHigh(0) ? high : 0, tooLow(0) ? Math.ceil : Math.floor)
  if (tooLow(value)) value = grid === 0 && Number.isFinite(high) ? (low + high) / 2 : value + nudge
  if (tooHigh(value)) value = grid === 0 && Number.isFinite(low) ? (low + high) / 2 : value - nudge
  return value
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}

function deeper(walk: Walk): Walk {
  return { ...walk, depth: walk.depth + 1 }
}
