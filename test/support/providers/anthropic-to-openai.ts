/**
 * Turns a Messages request around: what an OpenAI client would have sent to get it. For tests that hold the codec
 * against requests which were really sent. It knows the fields those have, and throws `Untranslatable` for the rest.
 */

// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

/** The request says something that an OpenAI client cannot say. */
export class Untranslatable extends Error {
  override readonly name = 'Untranslatable'
}

const BEYOND_US = new Map([
  ['mcp_servers', 'tools that run at the provider'],
  ['context_management', 'context management'],
])

/** @returns The body of a chat completion. */
export function openAiRequestOf(native: Anything): Anything {
  for (const [field, what] of BEYOND_US) if (native[field] !== undefined) throw new Untranslatable(what)
  const system = native.system === undefined ? [] : [{ role: 'system', content: partsOf(native.system) }]
  return {
    model: native.model,
    max_tokens: native.max_tokens,
    messages: [...system, ...native.messages.flatMap(messagesOf)],
    stream: native.stream,
    temperature: native.temperature,
    stop: native.stop_sequences,
    tools: native.tools?.map(toolOf),
    tool_choice: choiceOf(native.tool_choice),
    response_format: formatOf(native.output_config?.format ?? native.output_format),
    reasoning_effort: effortOf(native),
  }
}

function messagesOf({ role, content }: Anything): Anything[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  for (const { type } of blocks)
    if (/^server_tool|_tool_result$|^mcp_/.test(type)) throw new Untranslatable(`'${type}'`)
  if (role === 'assistant') return [assistantOf(blocks)]
  const results = blocks.filter((block: Anything) => block.type === 'tool_result')
  const rest = blocks.filter((block: Anything) => block.type !== 'tool_result')
  const said = rest.length === 0 ? [] : [{ role: 'user', content: rest.map(partOf) }]
  return [...results.map(resultOf), ...said]
}

function assistantOf(blocks: Anything[]): Anything {
  const text = blocks.filter((block) => block.type === 'text')
  const calls = blocks.filter((block) => block.type === 'tool_use')
  const thinking = blocks.filter((block) => block.type.endsWith('thinking'))
  return {
    role: 'assistant',
    content: text.length === 0 ? null : text.map(partOf),
    tool_calls: calls.length === 0 ? undefined : calls.map(callOf),
    provider_context:
      thinking.length === 0
        ? undefined
        : { anthropic: { blocks: thinking.map((block, index) => ({ ...block, index })) } },
  }
}

function callOf({ id, name, input }: Anything): Anything {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
}

function resultOf({ tool_use_id: id, content }: Anything): Anything {
  return { role: 'tool', tool_call_id: id, content: typeof content === 'string' ? content : content.map(partOf) }
}

function partsOf(system: Anything): Anything {
  return typeof system === 'string' ? system : system.map(partOf)
}

function partOf(block: Anything): Anything {
  return { ...barePartOf(block), prompt_cache_breakpoint: block.cache_control && { mode: 'explicit' } }
}

function barePartOf(block: Anything): Anything {
  const { type, source, title } = block
  if (block.citations?.enabled) throw new Untranslatable('citations')
  if (type === 'text') return { type: 'text', text: block.text }
  if (type === 'image') return { type: 'image_url', image_url: { url: addressOf(source) } }
  if (type === 'document') return { type: 'file', file: { file_data: addressOf(source), filename: title } }
  throw new Untranslatable(`'${type}' content`)
}

function addressOf({ type, url, media_type: mediaType, data }: Anything): string {
  if (type === 'url') return url
  const base64 = type === 'base64' ? data : Buffer.from(data).toString('base64')
  return `data:${mediaType};base64,${base64}`
}

function toolOf(tool: Anything): Anything {
  if (tool.input_schema === undefined) throw new Untranslatable(`the provider's own tool '${tool.type}'`)
  return {
    type: 'function',
    function: {
      name: tool.name,
      description: tool.description,
      parameters: tool.input_schema,
      strict: tool.strict,
    },
  }
}

function choiceOf(choice: Anything): Anything {
  if (choice === undefined) return undefined
  if (choice.type === 'tool') return { type: 'function', function: { name: choice.name } }
  return choice.type === 'any' ? 'required' : choice.type
}

function formatOf(format: Anything): Anything {
  return format && { type: 'json_schema', json_schema: { name: 'answer', schema: format.schema, strict: true } }
}

function effortOf({ thinking, output_config: config }: Anything): string | undefined {
  if (config?.effort !== undefined) return config.effort
  if (thinking === undefined) return undefined
  return thinking.budget_tokens > 1024 ? 'low' : 'minimal'
}
