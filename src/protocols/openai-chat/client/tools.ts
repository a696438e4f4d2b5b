/**
 * `tools` and `tool_choice`, and their older names `functions` and `function_call`, which become the former.
 * A custom tool becomes a tool marked as such; a tool that runs at the provider is refused by name, never dropped.
 */
import type { Tool, ToolChoice } from '../../../domain/chat.ts'
import {
  arrayAt,
  booleanAt,
  isAbsent,
  type JsonObject,
  nameAt,
  objectAt,
  oneOf,
  refuse,
  refuseType,
  stringAt,
  withoutNulls,
} from './checks.ts'
import { checkOptional } from './formats.ts'

/** The part of a request that this file fills. */
interface ToolDraft {
  tools?: readonly Tool[]
  toolChoice?: ToolChoice
  legacyFunctions?: boolean
}

const MAX_TOOLS = 128
const CHOICES = ['none', 'auto', 'required'] as const

/** An empty list says the same as none. */
export function readTools(value: unknown, name: string, draft: ToolDraft): void {
  const tools = listAt(value, name).map((tool, at) => readTool(tool, `${name}[${at}]`))
  if (tools.length > 0) draft.tools = tools
}

/** The older form of `tools`: bare functions. */
export function readFunctions(value: unknown, name: string, draft: ToolDraft): void {
  const functions = listAt(value, name)
  if (functions.length === 0) return
  if (draft.tools !== undefined) refuse('invalid_value', name, `Send \`tools\` or \`${name}\`, not both.`)
  draft.legacyFunctions = true
  draft.tools = functions.map((described, at) => {
    const place = `${name}[${at}]`
    return { type: 'function', function: readFunction(objectAt(described, place), place) }
  })
}

/** `none` and `auto` say nothing where there are no tools, so they are left out there. */
export function readToolChoice(value: unknown, name: string, draft: ToolDraft): void {
  const choice = choiceAt(value, name, draft.tools)
  if (draft.tools !== undefined) {
    draft.toolChoice = choice
  } else if (choice !== 'none' && choice !== 'auto') {
    refuse('invalid_value', name, `\`${name}\` demands a tool call, but the request has no \`tools\`.`)
  }
}

/** The older form of `tool_choice`: `none`, `auto` or `{name}`. */
export function readFunctionCall(value: unknown, name: string, draft: ToolDraft): void {
  if (draft.toolChoice !== undefined) refuse('invalid_value', name, `Send \`tool_choice\` or \`${name}\`, not both.`)
  if (typeof value === 'string') {
    readToolChoice(oneOf(value, name, ['none', 'auto']), name, draft)
    return
  }
  if (typeof value !== 'object') refuseType(value, name, '"none", "auto" or an object with `name`')
  const wanted = stringAt(objectAt(value, name)['name'], `${name}.name`)
  requireTool(wanted, draft.tools, `${name}.name`)
  draft.toolChoice = { type: 'function', function: { name: wanted } }
}

function listAt(value: unknown, name: string): readonly unknown[] {
  const list = arrayAt(value, name)
  if (list.length <= MAX_TOOLS) return list
  refuse('out_of_range', name, `\`${name}\` must have at most ${MAX_TOOLS} entries, not ${list.length}.`)
}

function readTool(value: unknown, place: string): Tool {
  const tool = objectAt(value, place)
  refuseServerTool(tool, place)
  if (toolTypeAt(tool, place) === 'custom') return readCustomTool(tool, `${place}.custom`)
  const described = objectAt(tool['function'], `${place}.function`)
  const usable = readFunction(described, `${place}.function`)
  return (usable === (described as unknown) ? tool : { ...tool, function: usable }) as unknown as Tool
}

/** Shared with the tool calls of messages. */
export function toolTypeAt(object: JsonObject, place: string): 'function' | 'custom' {
  return oneOf(object['type'], `${place}.type`, ['function', 'custom'])
}

/** A tool that runs at the provider (web search, code execution, …), which bills it apart. */
function refuseServerTool({ type, function: described }: JsonObject, place: string): void {
  if (type === 'function' || type === 'custom' || (isAbsent(type) && !isAbsent(described))) return
  if (!isAbsent(type) && typeof type !== 'string') return
  const param = isAbsent(type) ? place : `${place}.type`
  const message = `\`${param}\` is a tool that runs at the provider and has no price; only "function" and "custom" tools are supported.`
  refuse('unsupported_parameter', param, message)
}

function readCustomTool({ custom }: JsonObject, place: string): Tool {
  const described = objectAt(custom, place)
  const name = nameAt(described['name'], `${place}.name`)
  checkOptional(described, place, { description: stringAt, format: objectAt })
  const { description, format } = described
  return {
    type: 'function',
    function: isAbsent(description) ? { name } : { name, description: String(description) },
    custom: isAbsent(format) ? {} : { format },
  }
}

function readFunction(described: JsonObject, place: string): Tool['function'] {
  nameAt(described['name'], `${place}.name`)
  checkOptional(described, place, { description: stringAt, parameters: objectAt, strict: booleanAt })
  return withoutNulls(described, ['description', 'parameters']) as unknown as Tool['function']
}

function choiceAt(value: unknown, name: string, tools: readonly Tool[] | undefined): ToolChoice {
  if (typeof value === 'string') return oneOf(value, name, CHOICES)
  if (typeof value !== 'object') refuseType(value, name, '"none", "auto", "required" or an object')
  const choice = objectAt(value, name)
  const type = oneOf(choice['type'], `${name}.type`, ['function', 'allowed_tools', 'custom'])
  if (type === 'allowed_tools') return readAllowed(choice, name, tools)
  return readNamed(choice, name, { type, tools })
}

interface NamedTool {
  readonly type: 'function' | 'custom'
  readonly tools: readonly Tool[] | undefined
}

/** A custom tool is known by its name among the tools, as a function is. */
function readNamed(choice: JsonObject, place: string, { type, tools }: NamedTool): Extract<ToolChoice, Tool> {
  const param = `${place}.${type}`
  const name = stringAt(objectAt(choice[type], param)['name'], `${param}.name`)
  requireTool(name, tools, `${param}.name`)
  return type === 'function' ? (choice as unknown as Tool) : { type: 'function', function: { name } }
}

function readAllowed(choice: JsonObject, place: string, tools: readonly Tool[] | undefined): ToolChoice {
  const param = `${place}.allowed_tools`
  const allowed = objectAt(choice['allowed_tools'], param)
  const mode = oneOf(allowed['mode'], `${param}.mode`, ['auto', 'required'])
  const entries = arrayAt(allowed['tools'], `${param}.tools`)
  const named = entries.map((entry, at) => {
    const place = `${param}.tools[${at}]`
    const tool = objectAt(entry, place)
    return readNamed(tool, place, { type: toolTypeAt(tool, place), tools })
  })
  if (named.every((tool, at) => tool === entries[at])) return choice as unknown as ToolChoice
  return { type: 'allowed_tools', allowed_tools: { mode, tools: named } }
}

function requireTool(wanted: string, tools: readonly Tool[] | undefined, param: string): void {
  if (tools?.some((tool) => tool.function.name === wanted)) return
  refuse('invalid_value', param, `\`${param}\` is not the name of any of the request's tools.`)
}
