/**
 * OpenAI's Responses API as a provider, in memory: its answers, whole and as the events of a stream, and the rules that it
 * holds the input items of a request to. Its words for what it refuses are the API's own in kind. What it encrypts, it
 * recognises; nothing else passes as reasoning.
 */
import { createHash } from 'node:crypto'

// biome-ignore lint/suspicious/noExplicitAny: items are any JSON until they are checked
type Anything = any

function seal(text: string): string {
  return createHash('sha256').update(`the provider's secret ${text}`).digest('base64')
}

/** Reasoning as the API gives it. */
export function reasoningItem(id: string, ...summary: readonly string[]): Anything {
  return {
    type: 'reasoning',
    id,
    summary: summary.map((text) => ({ type: 'summary_text', text })),
    encrypted_content: seal(id),
  }
}

export function messageItem(id: string, text: string, phase?: string): Anything {
  const content = text === '' ? [] : [{ type: 'output_text', text, annotations: [] }]
  return {
    ...{ type: 'message', id, role: 'assistant', status: 'completed' },
    ...(phase === undefined ? {} : { phase }),
    content,
  }
}

export function functionItem(id: string, call: { id: string; name: string; arguments: string }): Anything {
  return {
    ...{ type: 'function_call', id, status: 'completed' },
    ...{ call_id: call.id, name: call.name, arguments: call.arguments },
  }
}

const look = (number: number, at: string): Anything =>
  functionItem(`fc_${number}`, { id: `call_${number}`, name: 'look', arguments: JSON.stringify({ at }) })

/** What a model says in a loop of the tool `look`: reasoning first, reasoning between, hidden reasoning, the answer. */
export const REASONING_LOOP: readonly (readonly Anything[])[] = [
  [
    reasoningItem('rs_1', 'First I look left.', 'Then right.'),
    messageItem('msg_1', 'I look.', 'commentary'),
    look(1, 'left'),
    look(2, 'right'),
  ],
  [reasoningItem('rs_2', 'Now up.'), look(3, 'up'), reasoningItem('rs_3', 'And down.'), look(4, 'down')],
  [reasoningItem('rs_4'), look(5, 'behind')],
  [messageItem('msg_2', 'Nothing anywhere.', 'final_answer')],
]

export interface ResponseEnd {
  readonly promptTokens?: number
  readonly completionTokens?: number
  /** Cut off at its length. */
  readonly isCut?: boolean
}

/** A whole response with these items. */
export function responseOf(output: readonly Anything[], end: ResponseEnd = {}): Anything {
  const { promptTokens = 10, completionTokens = 5, isCut = false } = end
  return {
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'theirs', error: null },
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output,
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: completionTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + completionTokens,
    },
    service_tier: 'default',
  }
}

/** The events of a streamed response with these items. @param pieces How a text is cut; by default not at all. */
export function responseEvents(
  output: readonly Anything[],
  end: ResponseEnd = {},
  pieces: (text: string) => readonly string[] = (text) => [text],
): Anything[] {
  const response = responseOf(output, end)
  const begun = { ...response, status: 'in_progress', incomplete_details: null, output: [], usage: null }
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...output.flatMap((item, index) =>
      itemEvents(item, pieces).map((event) => ({ item_id: item.id, ...event, output_index: index })),
    ),
    { type: `response.${response.status}`, response },
  ]
  return events.map((event, sequence_number) => ({ ...event, sequence_number }))
}

function itemEvents(item: Anything, pieces: (text: string) => readonly string[]): Anything[] {
  const added = { type: 'response.output_item.added', item: { ...item, ...EMPTY[item.type] } }
  return [added, ...contentEvents(item, pieces), { type: 'response.output_item.done', item }]
}

const EMPTY: Readonly<Record<string, object>> = {
  message: { content: [], status: 'in_progress' },
  reasoning: { summary: [] },
  function_call: { arguments: '', status: 'in_progress' },
  custom_tool_call: { input: '' },
}

function contentEvents(item: Anything, pieces: (text: string) => readonly string[]): Anything[] {
  const deltas = (type: string, text: string, at: object = {}): Anything[] =>
    pieces(text).map((delta) => ({ type: `response.${type}`, ...at, delta }))
  switch (item.type) {
    case 'message':
      return item.content.flatMap((part: Anything, content_index: number) => [
        { type: 'response.content_part.added', content_index, part: { ...part, text: '' } },
        ...(part.type === 'refusal'
          ? deltas('refusal.delta', part.refusal, { content_index })
          : deltas('output_text.delta', part.text, { content_index, logprobs: [] })),
        { type: 'response.content_part.done', content_index, part },
      ])
    case 'reasoning':
      return item.summary.flatMap(({ text }: Anything, summary_index: number) => [
        { type: 'response.reasoning_summary_part.added', summary_index, part: { type: 'summary_text', text: '' } },
        ...deltas('reasoning_summary_text.delta', text, { summary_index }),
        { type: 'response.reasoning_summary_text.done', summary_index, text },
      ])
    case 'function_call':
      return deltas('function_call_arguments.delta', item.arguments)
    case 'custom_tool_call':
      return deltas('custom_tool_call_input.delta', item.input)
    default:
      return []
  }
}

/** As server-sent events, with their names. */
export function responseFrames(events: readonly Anything[]): string[] {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** @returns What the API would answer with 400; undefined for a request that it takes. */
export function refusalOf(body: Anything): string | undefined {
  if (body.store !== false) return 'store: this organization stores nothing'
  if (!Number.isInteger(body.max_output_tokens)) return 'max_output_tokens: not here, and it was held for'
  const unknown = Object.keys(body).find((name) => !FIELDS.has(name))
  if (unknown !== undefined) return `Unknown parameter: '${unknown}'.`
  if (!Array.isArray(body.input) || body.input.length === 0) return 'input: at least one item'
  for (const [at, item] of body.input.entries()) {
    const fault = itemFault(item)
    if (fault !== undefined) return `input[${at}]: ${fault}`
  }
  return toolsFault(body) ?? orderFault(body.input)
}

const FIELDS = new Set([
  ...['model', 'input', 'instructions', 'stream', 'stream_options', 'store', 'include', 'max_output_tokens'],
  ...['reasoning', 'text', 'temperature', 'top_p', 'top_logprobs', 'user', 'metadata', 'service_tier', 'tools'],
  ...['tool_choice', 'parallel_tool_calls', 'max_tool_calls', 'truncation', 'prompt_cache_key', 'safety_identifier'],
  ...['prompt_cache_options', 'prompt_cache_retention'],
])
const ITEM_FIELDS: Anything = {
  message: ['type', 'role', 'content', 'id', 'status', 'phase'],
  reasoning: ['type', 'id', 'summary', 'content', 'encrypted_content'],
  function_call: ['type', 'id', 'call_id', 'name', 'arguments', 'status'],
  custom_tool_call: ['type', 'id', 'call_id', 'name', 'input', 'status'],
  function_call_output: ['type', 'call_id', 'output'],
  custom_tool_call_output: ['type', 'call_id', 'output'],
}

function itemFault(item: Anything): string | undefined {
  const fields = ITEM_FIELDS[item.type]
  if (fields === undefined) return `'${item.type}' is no item`
  const extra = Object.keys(item).find((field) => !fields.includes(field))
  if (extra !== undefined) return `Unknown parameter: '${extra}'.`
  if ('call_id' in item && !(item.call_id.length >= 1 && item.call_id.length <= 64))
    return 'call_id: 1 to 64 characters'
  if (item.type === 'message') return messageFault(item)
  if (item.type === 'reasoning' && item.encrypted_content !== seal(item.id)) {
    return 'The encrypted content could not be verified.'
  }
  return undefined
}

function messageFault({ role, content, id }: Anything): string | undefined {
  if (id !== undefined && !id.startsWith('msg_')) return `Expected an ID that begins with 'msg'.`
  if (typeof content === 'string') return undefined
  const allowed = role === 'assistant' ? ['output_text', 'refusal'] : ['input_text', 'input_image', 'input_file']
  const other = content.find((part: Anything) => !allowed.includes(part.type))
  return other === undefined ? undefined : `Invalid value: '${other.type}'.`
}

function toolsFault({ tools = [] }: Anything): string | undefined {
  const bad = tools.find(({ type, name, strict, parameters }: Anything) => {
    if (typeof name !== 'string') return type !== 'web_search'
    return type === 'function' ? typeof strict !== 'boolean' || parameters === undefined : type !== 'custom'
  })
  return bad === undefined ? undefined : `Invalid tool: ${JSON.stringify(bad)}`
}

/** Each call has one output after it, and reasoning is followed by what it led to. */
function orderFault(items: readonly Anything[]): string | undefined {
  const open = new Map<string, string>()
  for (const [at, item] of items.entries()) {
    const next = items[at + 1]
    if (
      item.type === 'reasoning' &&
      !['reasoning', 'message', 'function_call', 'custom_tool_call'].includes(next?.type)
    ) {
      return `Item '${item.id}' of type 'reasoning' was provided without its required following item.`
    }
    if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      if (open.has(item.call_id)) return `Duplicate call_id '${item.call_id}'.`
      open.set(item.call_id, `${item.type}_output`)
    } else if (item.call_id !== undefined) {
      if (open.get(item.call_id) !== item.type) return `No tool call found with call_id ${item.call_id}.`
      open.delete(item.call_id)
    }
  }
  const [left] = open.keys()
  return left === undefined ? undefined : `No tool output found for call ${left}.`
}
