/** What providers of each protocol say and how, for scripts of fake ones: one answer in the words of every format. */
import { chunk, completion, counts, frame, SSE_HEAD } from './answers.ts'
import { awsMessage } from './aws-events.ts'
import type { ProviderCall, Script } from './fake-provider.ts'
import { functionItem, messageItem, responseEvents, responseFrames, responseOf } from './responses-fake.ts'

/** An answer, whatever the format. */
export interface Said {
  readonly reasoning?: string
  /** Pieces; each is sent by itself in a stream. */
  readonly text?: readonly string[]
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: object }[]
  /** Cut off at its length. */
  readonly isCut?: boolean
  readonly promptTokens?: number
  readonly completionTokens?: number
}

type Bytes = string | Buffer

export interface Native {
  /** The entry under `providers`, without its address. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly model: string
  /** Whether the call wants a stream. */
  isStreamed(call: ProviderCall): boolean
  readonly streamType: string
  whole(said: Said): string
  /** The frames of a stream, from the first to the terminal one. */
  frames(said: Said): readonly Bytes[]
  /** The body of an error answer. */
  error(status: number, message: string): string
  /** An error in the middle of a stream. */
  errorFrame(message: string): Bytes
}

const FULL = { promptTokens: 10, completionTokens: 5 }
const EVENT_STREAM = SSE_HEAD['content-type']

const anthropic: Native = {
  settings: { kind: 'anthropic', api_key: 'sk-anthropic' },
  model: 'claude-sonnet-4-5',
  isStreamed: ({ body }) => JSON.parse(body).stream === true,
  streamType: EVENT_STREAM,
  whole: (said) => {
    const { promptTokens, completionTokens } = { ...FULL, ...said }
    const usage = { input_tokens: promptTokens, output_tokens: completionTokens }
    return JSON.stringify({ ...MESSAGE, content: blocksOf(said), stop_reason: stopReason(said), usage })
  },
  frames: (said) => messageFrames(blocksOf(said), { stopReason: stopReason(said), ...FULL, ...said }),
  error: (status, message) => JSON.stringify({ type: 'error', error: { type: anthropicType(status), message } }),
  errorFrame: (message) => named({ type: 'error', error: { type: 'overloaded_error', message } }),
}

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' }

function stopReason({ calls = [], isCut }: Said): string {
  if (isCut === true) return 'max_tokens'
  return calls.length > 0 ? 'tool_use' : 'end_turn'
}

function blocksOf({ reasoning, text = [], calls = [] }: Said): object[] {
  return [
    ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: 'c2lnbmVk' }]),
    ...text.map((piece) => ({ type: 'text', text: piece })),
    ...calls.map((call) => ({ type: 'tool_use', ...call })),
  ]
}

function anthropicType(status: number): string {
  if (status === 529) return 'overloaded_error'
  return status === 401 ? 'authentication_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error'
}

function named(event: Readonly<Record<string, unknown>>): string {
  return `event: ${event['type']}\ndata: ${JSON.stringify(event)}\n\n`
}

// biome-ignore lint/suspicious/noExplicitAny: blocks of an answer are any JSON
type Block = any

export interface MessageEnd {
  readonly stopReason: string
  readonly promptTokens: number
  readonly completionTokens: number
}

/** The frames of a streamed message with these blocks. */
export function messageFrames(content: readonly Block[], end: MessageEnd): string[] {
  return messageEvents(content, end).map(named)
}

/** The events of a streamed message with these blocks, each block in deltas. */
export function messageEvents(content: readonly Block[], end: MessageEnd): Readonly<Record<string, unknown>>[] {
  const usage = { input_tokens: end.promptTokens, output_tokens: 1 }
  return [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null, usage } },
    ...content.flatMap(blockEvents),
    { type: 'message_delta', delta: { stop_reason: end.stopReason }, usage: { output_tokens: end.completionTokens } },
    { type: 'message_stop' },
  ]
}

const EMPTY: Readonly<Record<string, object>> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { input: {} },
}

function blockEvents(block: Block, index: number): Readonly<Record<string, unknown>>[] {
  return [
    { type: 'content_block_start', index, content_block: { ...block, ...EMPTY[block.type] } },
    ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function deltasOf(block: Block): object[] {
  if (block.type === 'text') return [{ type: 'text_delta', text: block.text }]
  if (block.type === 'tool_use') return [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]
  if (block.type !== 'thinking') return []
  const { thinking, signature } = block
  return [
    { type: 'thinking_delta', thinking },
    { type: 'signature_delta', signature },
  ]
}

const google: Native = {
  settings: { kind: 'google', api_key: 'google-key' },
  model: 'gemini-2.5-flash',
  isStreamed: ({ path }) => path.includes(':streamGenerateContent'),
  streamType: EVENT_STREAM,
  whole: (said) => JSON.stringify(geminiAnswer(partsOf(said), said)),
  frames: (said) => geminiFrames(partsOf(said), said),
  error: (status, message) => JSON.stringify({ error: { code: status, message, status: 'SOMETHING' } }),
  errorFrame: (message) => frame({ error: { code: 503, message, status: 'UNAVAILABLE' } }),
}

type Part = Readonly<Record<string, unknown>>

function partsOf({ reasoning, text = [], calls = [] }: Said): Part[] {
  return [
    ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
    ...text.map((piece) => ({ text: piece })),
    ...calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } })),
  ]
}

/** A whole answer with these parts. */
export function geminiAnswer(parts: readonly Part[], said: Said = {}): Readonly<Record<string, unknown>> {
  const { promptTokens, completionTokens, isCut } = { ...FULL, ...said }
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: isCut === true ? 'MAX_TOKENS' : 'STOP' }],
    usageMetadata: {
      promptTokenCount: promptTokens,
      candidatesTokenCount: completionTokens,
      totalTokenCount: promptTokens + completionTokens,
    },
    responseId: 'answer-1',
  }
}

/** A stream with a chunk for each part, the last of which says that it is the last. */
export function geminiFrames(parts: readonly Part[], said: Said = {}): string[] {
  const last = geminiAnswer(parts.slice(-1), said)
  const before = parts.slice(0, -1).map((part) => ({
    candidates: [{ index: 0, content: { role: 'model', parts: [part] } }],
    usageMetadata: { promptTokenCount: said.promptTokens ?? FULL.promptTokens },
    responseId: 'answer-1',
  }))
  return [...before, last].map(frame)
}

const vertex: Native = {
  ...google,
  settings: { kind: 'vertex', project: 'project-1', region: 'europe-west4', api_key: 'access-token' },
}

const bedrock: Native = {
  settings: { kind: 'bedrock', region: 'eu-west-1', api_key: 'AKIDEXAMPLE:secret-key' },
  model: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
  isStreamed: ({ path }) => path.endsWith('/converse-stream'),
  streamType: 'application/vnd.amazon.eventstream',
  whole: (said) => {
    const message = { role: 'assistant', content: converseBlocks(said) }
    return JSON.stringify({ output: { message }, stopReason: stopReason(said), usage: converseUsage(said) })
  },
  frames: (said) => converseEvents(said).map(([type, payload]) => awsMessage(type, payload)),
  error: (_, message) => JSON.stringify({ message }),
  errorFrame: (message) => awsMessage('modelStreamErrorException', { message }),
}

function converseUsage(said: Said): object {
  const { promptTokens, completionTokens } = { ...FULL, ...said }
  return { inputTokens: promptTokens, outputTokens: completionTokens, totalTokens: promptTokens + completionTokens }
}

function converseBlocks({ reasoning, text = [], calls = [] }: Said): object[] {
  const thinking = { reasoningContent: { reasoningText: { text: reasoning, signature: 'c2lnbmVk' } } }
  return [
    ...(reasoning === undefined ? [] : [thinking]),
    ...text.map((piece) => ({ text: piece })),
    ...calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } })),
  ]
}

function converseEvents(said: Said): [type: string, payload: object][] {
  return [
    ['messageStart', { role: 'assistant' }],
    ...converseBlocks(said).flatMap(converseDeltas),
    ['messageStop', { stopReason: stopReason(said) }],
    ['metadata', { usage: converseUsage(said) }],
  ]
}

function converseDeltas(block: Block, contentBlockIndex: number): [type: string, payload: object][] {
  const delta = (value: object): [string, object] => ['contentBlockDelta', { contentBlockIndex, delta: value }]
  const stop: [string, object] = ['contentBlockStop', { contentBlockIndex }]
  if (block.text !== undefined) return [delta({ text: block.text }), stop]
  if (block.reasoningContent !== undefined) {
    const { text, signature } = block.reasoningContent.reasoningText
    return [delta({ reasoningContent: { text } }), delta({ reasoningContent: { signature } }), stop]
  }
  const { toolUseId, name, input } = block.toolUse
  const start: [string, object] = ['contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } }]
  return [start, delta({ toolUse: { input: JSON.stringify(input) } }), stop]
}

const deepseek: Native = {
  settings: { kind: 'deepseek', api_key: 'sk-deepseek' },
  model: 'deepseek-chat',
  isStreamed: ({ body }) => JSON.parse(body).stream === true,
  streamType: EVENT_STREAM,
  whole: (said) => {
    const { promptTokens, completionTokens, text, reasoning } = { ...FULL, ...said }
    const message = {
      content: text?.join('') ?? null,
      ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
      ...(said.calls === undefined ? {} : { tool_calls: chatCalls(said) }),
    }
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: chatFinish(said) }]
    return JSON.stringify(completion({}, { choices, usage: counts(promptTokens, completionTokens) }))
  },
  frames: (said) => {
    const { promptTokens, completionTokens, text = [], reasoning } = { ...FULL, ...said }
    const calls = chatCalls(said).map((call, index) => chunk({ tool_calls: [{ index, ...call }] }))
    const usage = { usage: counts(promptTokens, completionTokens) }
    return [
      chunk({ role: 'assistant', content: '' }),
      ...(reasoning === undefined ? [] : [chunk({ reasoning_content: reasoning })]),
      ...text.map((piece) => chunk({ content: piece })),
      ...calls,
      chunk({}, chatFinish(said), usage),
      '[DONE]',
    ].map(frame)
  },
  error: (_, message) => JSON.stringify({ error: { message, type: 'some_error', param: null, code: null } }),
  errorFrame: (message) => frame({ error: { message, type: 'server_error', param: null, code: null } }),
}

const azure: Native = { ...deepseek, settings: { kind: 'azure', api_key: 'azure-key' }, model: 'my-deployment' }

function chatCalls({ calls = [] }: Said): object[] {
  return calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
}

function chatFinish({ calls = [], isCut }: Said): string {
  if (isCut === true) return 'length'
  return calls.length > 0 ? 'tool_calls' : 'stop'
}

const responses: Native = {
  ...deepseek,
  settings: { protocol: 'openai-responses', api_key: 'sk-responses' },
  model: 'their-model',
  whole: (said) => JSON.stringify(responseOf(itemsOf(said), said)),
  frames: (said) => responseFrames(responseEvents(itemsOf(said), said, (text) => piecesOf(said, text))),
  errorFrame: (message) => `event: error\n${frame({ type: 'error', code: 'server_error', message, param: null })}`,
}

function itemsOf({ reasoning, text, calls = [] }: Said): object[] {
  const summary = reasoning === undefined ? [] : [{ type: 'summary_text', text: reasoning }]
  return [
    ...summary.map((part) => ({ type: 'reasoning', id: 'rs_1', summary: [part] })),
    ...(text === undefined ? [] : [messageItem('msg_1', text.join(''))]),
    ...calls.map(({ id, name, input }, at) => functionItem(`fc_${at}`, { id, name, arguments: JSON.stringify(input) })),
  ]
}

function piecesOf({ text = [] }: Said, whole: string): readonly string[] {
  return whole === text.join('') ? text : [whole]
}

/** By the name under which the tests configure it. */
export const NATIVES: Readonly<Record<string, Native>> = {
  anthropic,
  google,
  vertex,
  bedrock,
  azure,
  deepseek,
  responses,
}

/** Returns the configuration of providers whose fake answers below `/name` of `url`. */
export function nativeProviders(
  url: string,
  names: readonly string[] = Object.keys(NATIVES),
  natives: Readonly<Record<string, Native | undefined>> = NATIVES,
) {
  return Object.fromEntries(names.map((name) => [name, { ...natives[name]?.settings, base_url: `${url}/${name}` }]))
}

/** The frames up to the first piece of text. */
export function beginning(native: Native, said: Said): readonly (string | Buffer)[] {
  const frames = native.frames(said)
  const [first = ''] = said.text ?? []
  return frames.slice(0, frames.findIndex((each) => each.includes(first)) + 1)
}

/** Answers as asked, whole or streamed. */
export function answerNative(native: Native, said: Said): Script {
  return async (call, reply) => {
    if (!native.isStreamed(call)) {
      reply.head(200, { 'content-type': 'application/json' })
      return reply.end(native.whole(said))
    }
    reply.head(200, { 'content-type': native.streamType })
    for (const piece of native.frames(said)) await reply.write(piece)
    reply.end()
  }
}

/** Answers with an error of this status. */
export function refuseNative(native: Native, status: number, message = 'Something is wrong.'): Script {
  return (_, reply) => {
    reply.head(status, { 'content-type': 'application/json' })
    reply.end(native.error(status, message))
  }
}
