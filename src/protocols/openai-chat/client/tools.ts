/**
 * `tools` and `tool_choice`, and their older names `functions` and `function_call`, which become the former.
 * A custom tool becomes a tool marked as such. Tools that run at the provider are kept separately; the protocol
 * decides on them.
 */

import type { ServerTool, Tool, ToolChoice } from '../../../domain/chat.ts'
import type { Json } from '../../../lib/json.ts'
import { serverToolName } from '../../server-tools.ts'
import {
  arrayAt,
  booleanAt,
  checkOptional,
  integerIn,
  isAbsent,
  nameAt,
  objectAt,
  oneOf,
  refuse,
  refuseType,
  stringAt,
  withoutNulls,
} from './checks.ts'

/** The part of a request that this file fills. */
interface ToolDraft {
  tools?: readonly Tool[]
  serverTools?: readonly ServerTool[]
  toolChoice?: ToolChoice
  legacyFunctions?: boolean
}

const MAX_TOOLS = 128
const CHOICES = ['none', 'auto', 'required'] as const

/** Reads the tools. An empty list means none. */
export function readTools(value: unknown, name: string, draft: ToolDraft): void {
  const tools: Tool[] = []
  const serverTools: ServerTool[] = []
  for (const [at, described] of listAt(value, name).entries()) {
    const path = `${name}[${at}]`
    const tool = objectAt(described, path)
    const serverTool = readServerTool(tool, path)
    if (serverTool === undefined) tools.push(readTool(tool, path))
    else serverTools.push(serverTool)
  }
  if (tools.length > 0) draft.tools = tools
  if (serverTools.length > 0) draft.serverTools = serverTools
}

/** The older form of `tools`: bare functions. */
export function readFunctions(value: unknown, name: string, draft: ToolDraft): void {
  const functions = listAt(value, name)
  if (functions.length === 0) return
  if (draft.tools !== undefined) refuse('invalid_value', name, `Send \`tools\` or \`${name}\`, not both.`)
  draft.legacyFunctions = true
  draft.tools = functions.map((described, at) => {
    const path = `${name}[${at}]`
    return { type: 'function', function: readFunction(objectAt(described, path), path) }
  })
}

/**
 * Reads the choice. `none` and `auto` are dropped without tools, where they have no effect; `none` also covers the
 * provider's tools.
 */
export function readToolChoice(value: unknown, name: string, draft: ToolDraft): void {
  const choice = choiceAt(value, name, draft.tools)
  if (choice === 'none') delete draft.serverTools
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

function readTool(tool: Json, path: string): Tool {
  if (toolTypeAt(tool, path) === 'custom') return readCustomTool(tool, `${path}.custom`)
  const described = objectAt(tool['function'], `${path}.function`)
  const usable = readFunction(described, `${path}.function`)
  return (usable === (described as unknown) ? tool : { ...tool, function: usable }) as unknown as Tool
}

/** Shared with the tool calls of messages. */
export function toolTypeAt(object: Json, path: string): 'function' | 'custom' {
  return oneOf(object['type'], `${path}.type`, ['function', 'custom'])
}

const USES = { min: 1, max: 1000 } as const

/**
 * Reads a tool that runs at the provider (web search, code execution, …), which charges for it separately. Undefined
 * for others.
 */
function readServerTool(tool: Json, path: string): ServerTool | undefined {
  const { type, function: described, max_uses: limit } = tool
  if (type === 'function' || type === 'custom' || (isAbsent(type) && !isAbsent(described))) return undefined
  if (!isAbsent(type) && typeof type !== 'string') return undefined
  const name = serverToolName(isAbsent(type) ? { ...tool, type: undefined } : tool)
  if (name === undefined) return undefined
  const param = isAbsent(type) ? path : `${path}.type`
  if (isAbsent(limit)) return { name, param, wire: tool }
  return { name, param, wire: tool, maxUses: integerIn(limit, `${path}.max_uses`, USES) }
}

function readCustomTool({ custom }: Json, path: string): Tool {
  const described = objectAt(custom, path)
  const name = nameAt(described['name'], `${path}.name`)
  checkOptional(described, path, { description: stringAt, format: objectAt })
  const { description, format } = described
  return {
    type: 'function',
    function: isAbsent(description) ? { name } : { name, description: String(description) },
    custom: isAbsent(format) ? {} : { format },
  }
}

function readFunction(described: Json, path: string): Tool['function'] {
  nameAt(described['name'], `${path}.name`)
  checkOptional(described, path, { description: stringAt, parameters: objectAt, strict: booleanAt })
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
function readNamed(choice: Json, path: string, { type, tools }: NamedTool): Extract<ToolChoice, Tool> {
  const param = `${path}.${type}`
  const name = stringAt(objectAt(choice[type], param)['name'], `${param}.name`)
  requireTool(name, tools, `${param}.name`)
  return type === 'function' ? (choice as unknown as Tool) : { type: 'function', function: { name } }
}

function readAllowed(choice: Json, path: string, tools: readonly Tool[] | undefined): ToolChoice {
  const param = `${path}.allowed_tools`
  const allowed = objectAt(choice['allowed_tools'], param)
  const mode = oneOf(allowed['mode'], `${param}.mode`, ['auto', 'required'])
  const entries = arrayAt(allowed['tools'], `${param}.tools`)
  const named = entries.map((entry, at) => {
    const path = `${param}.tools[${at}]`
    const tool = objectAt(entry, path)
    return readNamed(tool, path, { type: toolTypeAt(tool, path), tools })
  })
  if (named.every((tool, at) => tool === entries[at])) return choice as unknown as ToolChoice
  return { type: 'allowed_tools', allowed_tools: { mode, tools: named } }
}

function requireTool(wanted: string, tools: readonly Tool[] | undefined, param: string): void {
  if (tools?.some((tool) => tool.function.name === wanted)) return
  refuse('invalid_value', param, `\`${param}\` is not the name of any of the request's tools.`)
}
