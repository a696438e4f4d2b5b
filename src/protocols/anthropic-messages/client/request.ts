/**
 * Reads a Messages request as a chat completion. Each block becomes its counterpart; a block without one is rejected or
 * named in `x-turnpike-warnings`. The validation of chat completions follows, so both APIs have the same limits.
 */
import type { ChatRequest } from '../../../domain/chat.ts'
import { isRecord, type Json } from '../../../lib/json.ts'
import {
  arrayAt,
  bodyObject,
  booleanAt,
  integerIn,
  isAbsent,
  numberIn,
  objectAt,
  oneOf,
  presentFields,
  refuse,
  refuseType,
  stringAt,
} from '../../openai-chat/client/checks.ts'
import { parseChatRequest } from '../../openai-chat/client/request.ts'
import { ROUTING_FIELDS, routingFields, withoutRouting } from '../../routing-fields.ts'
import { isBuiltInTool } from '../native.ts'
import {
  type Findings,
  nativeRequest,
  newFindings,
  noteCaching,
  noteDropped,
  noteEssential,
  readConversation,
} from './messages.ts'

const MAX_TOKENS = { min: 1, max: Number.MAX_SAFE_INTEGER } as const
const UNIT = { min: 0, max: 1 } as const
const TOP_K = { min: 0, max: Number.MAX_SAFE_INTEGER } as const
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const
const CHOICES = ['auto', 'any', 'tool', 'none'] as const
const THINKING = ['enabled', 'disabled', 'adaptive'] as const

/** The fields that are translated. */
const KNOWN: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'system',
  'max_tokens',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'tools',
  'tool_choice',
  'thinking',
  'metadata',
  'output_config',
  'service_tier',
  ...ROUTING_FIELDS,
])
/** The fields that change the meaning of the answer and are therefore rejected. */
const REFUSED: ReadonlySet<string> = new Set(['mcp_servers', 'container'])

/**
 * @param headers `anthropic-beta`.
 * @throws GatewayError for the first fault.
 */
export function parseMessagesRequest(value: unknown, headers: Readonly<Record<string, string>> = {}): ChatRequest {
  const body = presentFields(bodyObject(value))
  const findings = newFindings()
  const request = parseChatRequest({
    model: body['model'],
    messages: readConversation(body, findings),
    max_tokens: integerIn(body['max_tokens'], 'max_tokens', MAX_TOKENS),
    stream: readOptional(body['stream'], 'stream', booleanAt),
    temperature: readOptional(body['temperature'], 'temperature', readUnit),
    top_p: readOptional(body['top_p'], 'top_p', readUnit),
    stop: readOptional(body['stop_sequences'], 'stop_sequences', arrayAt),
    ...readTools(body, findings),
    ...readOutputConfig(body['output_config'], findings),
    user: readUser(body['metadata'], findings),
    service_tier: readTier(body['service_tier']),
    top_k: readOptional(body['top_k'], 'top_k', (top, name) => integerIn(top, name, TOP_K)),
    thinking: readOptional(body['thinking'], 'thinking', readThinking),
    ...routingFields(body),
  })
  noteCaching(findings, body)
  const native = nativeRequest({ body: withoutRouting(body), extra: otherFields(body), headers }, findings)
  return { ...request, isTranslated: true, native }
}

function readUnit(value: unknown, name: string): number {
  return numberIn(value, name, UNIT)
}

function readOptional<Result>(
  value: unknown,
  name: string,
  read: (value: unknown, name: string) => Result,
): Result | undefined {
  return value === undefined ? undefined : read(value, name)
}

/** Returns the fields without a translation. @throws GatewayError for those that change the meaning of the answer. */
function otherFields(body: Json): Json {
  const others = Object.entries(body).filter(([name]) => !KNOWN.has(name))
  const refused = others.find(([name, value]) => REFUSED.has(name) && !isEmpty(value))
  if (refused !== undefined) {
    refuse(
      'unsupported_parameter',
      refused[0],
      `\`${refused[0]}\` is not supported: it needs a container or server of the provider.`,
    )
  }
  return Object.fromEntries(others)
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function readThinking(value: unknown, name: string): Json {
  const thinking = objectAt(value, name)
  if (oneOf(thinking['type'], `${name}.type`, THINKING) === 'enabled') {
    integerIn(thinking['budget_tokens'], `${name}.budget_tokens`, { min: 1024, max: Number.MAX_SAFE_INTEGER })
  }
  return thinking
}

function readUser(value: unknown, findings: Findings): string | undefined {
  if (value === undefined) return undefined
  const { user_id: user, ...others } = objectAt(value, 'metadata')
  noteMembers(findings, 'metadata', others)
  return isAbsent(user) ? undefined : stringAt(user, 'metadata.user_id')
}

/** Reads the service tier; `auto` is the default. */
function readTier(value: unknown): 'default' | undefined {
  return value !== undefined && stringAt(value, 'service_tier') === 'standard_only' ? 'default' : undefined
}

/** Records the members of a field that the translation does not read. */
function noteMembers(findings: Findings, name: string, others: Json): void {
  for (const [member, value] of Object.entries(others))
    if (!isAbsent(value)) noteDropped(findings, `${name}.${member}`, value)
}

/** Reads `effort` and the schema of a structured answer. */
function readOutputConfig(value: unknown, findings: Findings): object {
  if (value === undefined) return {}
  const { effort, format, ...others } = objectAt(value, 'output_config')
  noteMembers(findings, 'output_config', others)
  return {
    reasoning_effort: isAbsent(effort) ? undefined : oneOf(effort, 'output_config.effort', EFFORTS),
    response_format: isAbsent(format) ? undefined : readFormat(objectAt(format, 'output_config.format'), findings),
  }
}

function readFormat({ type, schema, ...others }: Json, findings: Findings): object {
  oneOf(type, 'output_config.format.type', ['json_schema'])
  noteMembers(findings, 'output_config.format', others)
  const answer = objectAt(schema, 'output_config.format.schema')
  return { type: 'json_schema', json_schema: { name: 'answer', schema: answer, strict: true } }
}

/** Reads the tools. Without tools, `tool_choice` has no effect. */
function readTools(body: Json, findings: Findings): object {
  const { tools, tool_choice: choice } = body
  const listed = tools === undefined ? [] : arrayAt(tools, 'tools')
  const chosen = choice === undefined ? {} : readChoice(objectAt(choice, 'tool_choice'), findings)
  if (listed.length === 0) return {}
  return {
    tools: listed.map((tool, at) => readTool(objectAt(tool, `tools[${at}]`), `tools[${at}]`, findings)),
    ...chosen,
  }
}

/** Reads a tool. A tool that runs at the provider (`web_search_20250305`, …) keeps its form. */
function readTool(tool: Json, path: string, findings: Findings): object {
  const { type, name, description, input_schema: parameters, strict, cache_control: _, ...others } = tool
  noteCaching(findings, tool)
  if (isBuiltInTool(tool)) return readBuiltIn(tool, path, findings)
  if (!isAbsent(type) && type !== 'custom') return tool
  if (isRecord(tool['cache_control'])) findings.dropped.add('tools[].cache_control')
  noteMembers(findings, 'tools[]', others)
  return {
    type: 'function',
    function: {
      name: stringAt(name, `${path}.name`),
      description: isAbsent(description) ? undefined : stringAt(description, `${path}.description`),
      parameters: isRecord(parameters) ? parameters : refuseType(parameters, `${path}.input_schema`, 'an object'),
      strict: isAbsent(strict) ? undefined : booleanAt(strict, `${path}.strict`),
    },
  }
}

function readBuiltIn(tool: Json, path: string, findings: Findings): object {
  noteEssential(findings, `${path}.type`, tool)
  findings.builtInTools += 1
  const parameters = { type: 'object', properties: {} }
  return { type: 'function', function: { name: stringAt(tool['name'], `${path}.name`), parameters } }
}

function readChoice(choice: Json, findings: Findings): object {
  const { type: chosen, name, disable_parallel_tool_use: single, ...others } = choice
  const type = oneOf(chosen, 'tool_choice.type', CHOICES)
  noteMembers(findings, 'tool_choice', others)
  const isSingle = !isAbsent(single) && booleanAt(single, 'tool_choice.disable_parallel_tool_use')
  return {
    tool_choice:
      type === 'tool'
        ? { type: 'function', function: { name: stringAt(name, 'tool_choice.name') } }
        : type === 'any'
          ? 'required'
          : type,
    parallel_tool_calls: isSingle ? false : undefined,
  }
}
