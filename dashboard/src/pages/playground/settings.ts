/** What is set for all columns, as it is typed, and as it is sent. */
import type { Json } from '../../lib/code-samples.ts'
import { plural } from '../../lib/format.ts'
import { fieldsOf, linesOfItems, readJson, type TextProblem, textOf } from './json-text.ts'

export const FORMATS = ['text', 'json_object', 'json_schema'] as const
export type Format = (typeof FORMATS)[number]
export const TOOL_CHOICES = ['auto', 'required', 'none'] as const
export type ToolChoice = (typeof TOOL_CHOICES)[number]
export const EFFORTS = ['', 'minimal', 'low', 'medium', 'high'] as const
export type Effort = (typeof EFFORTS)[number]

export interface Settings {
  /** ID of the team that the request is of. Empty: none, the account itself. */
  readonly team: string
  /** A JSON list of function tools; empty: none. */
  readonly tools: string
  readonly toolChoice: ToolChoice
  readonly format: Format
  /** A JSON Schema. */
  readonly schema: string
  readonly isStrict: boolean
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly maxTokens: number | undefined
  readonly seed: number | undefined
  /** One sequence a line. */
  readonly stop: string
  /** Empty: the model's own. */
  readonly effort: Effort
}

export const EXAMPLE_TOOLS = `[
  {
    "type": "function",
    "function": {
      "name": "get_weather",
      "description": "The weather in a city now.",
      "parameters": {
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"]
      }
    }
  }
]`

export const EXAMPLE_SCHEMA = `{
  "type": "object",
  "properties": {
    "title": { "type": "string" },
    "tags": { "type": "array", "items": { "type": "string" } }
  },
  "required": ["title", "tags"],
  "additionalProperties": false
}`

export const DEFAULT_SETTINGS: Settings = {
  team: '',
  tools: '',
  toolChoice: 'auto',
  format: 'text',
  schema: EXAMPLE_SCHEMA,
  isStrict: true,
  temperature: undefined,
  topP: undefined,
  maxTokens: undefined,
  seed: undefined,
  stop: '',
  effort: '',
}

export interface SettingsProblems {
  readonly tools?: TextProblem
  readonly schema?: TextProblem
  readonly stop?: TextProblem
}

const MAX_TOOLS = 128
const MAX_STOPS = 4
const FUNCTION_NAME = /^[\w-]{1,64}$/

/** Empty when all can be sent. */
export function problemsOf({ tools, format, schema, stop }: Settings): SettingsProblems {
  const ofTools = tools.trim() === '' ? undefined : toolsProblem(tools)
  const ofSchema = format === 'json_schema' ? schemaProblem(schema) : undefined
  const tooMany = stopsOf(stop).length > MAX_STOPS
  return {
    ...(ofTools !== undefined && { tools: ofTools }),
    ...(ofSchema !== undefined && { schema: ofSchema }),
    ...(tooMany && { stop: { message: `${MAX_STOPS} stop sequences at most.` } }),
  }
}

/** Undefined when there are none, or what is typed cannot be sent. */
export function toolsOf(text: string): readonly Json[] | undefined {
  if (text.trim() === '' || toolsProblem(text) !== undefined) return undefined
  const { value } = readJson(text)
  return Array.isArray(value) && value.length > 0 ? value : undefined
}

export function schemaOf(text: string): Json | undefined {
  return schemaProblem(text) === undefined ? readJson(text).value : undefined
}

export function stopsOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '')
}

function toolsProblem(text: string): TextProblem | undefined {
  const { value, problem } = readJson(text)
  if (problem !== undefined) return problem
  if (!Array.isArray(value)) return { message: 'Tools are a list: enclose them in [ and ].', line: 1 }
  if (value.length > MAX_TOOLS) return { message: `${MAX_TOOLS} tools at most.` }
  const lines = linesOfItems(text)
  const names = new Set<string>()
  for (const [index, tool] of value.entries()) {
    const message = toolProblem(tool, names)
    if (message !== undefined) return { message: `Tool ${index + 1} ${message}`, line: lines[index] }
  }
  return undefined
}

/** @param names Of the tools before it; its own is added. */
function toolProblem(tool: unknown, names: Set<string>): string | undefined {
  const fields = fieldsOf(tool)
  if (fields['type'] !== 'function') return 'needs "type": "function".'
  const given = fieldsOf(fields['function'])
  const name = textOf(given['name'])
  if (name === undefined) return 'needs a "function" with a "name".'
  if (!FUNCTION_NAME.test(name)) return 'has an invalid name: use at most 64 letters, digits, _ and -.'
  if (names.has(name)) return `has a duplicate name: ${name}.`
  names.add(name)
  const { parameters } = given
  if (parameters !== undefined && !isObject(parameters)) return 'has "parameters" that are not a JSON Schema object.'
  return undefined
}

function schemaProblem(text: string): TextProblem | undefined {
  const { value, problem } = readJson(text)
  if (problem !== undefined) return problem
  return isObject(value) ? undefined : { message: 'A JSON Schema is an object: enclose it in { and }.', line: 1 }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What is set, in one line; empty when nothing is. */
export function summaryOf(settings: Settings): string {
  const { team, format, temperature, topP, maxTokens, seed, effort } = settings
  const tools = toolsOf(settings.tools)?.length ?? 0
  const stops = stopsOf(settings.stop).length
  const parts = [
    team !== '' && 'for a team',
    tools > 0 && plural(tools, 'tool'),
    format === 'json_object' && 'JSON object',
    format === 'json_schema' && 'JSON schema',
    temperature !== undefined && `temperature ${temperature}`,
    topP !== undefined && `top P ${topP}`,
    maxTokens !== undefined && plural(maxTokens, 'token at most', 'tokens at most'),
    seed !== undefined && `seed ${seed}`,
    stops > 0 && plural(stops, 'stop sequence'),
    effort !== '' && `${effort} effort`,
  ]
  return parts.filter((part) => part !== false).join(' · ')
}
