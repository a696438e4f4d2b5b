/** Streamed answers of five families of providers on the wire, for `abort-bills.ts`: what each shows while it generates. */
import { anthropicMessages } from '../../../src/protocols/anthropic-messages/index.ts'
import { bedrockConverse } from '../../../src/protocols/bedrock-converse/index.ts'
import { gemini } from '../../../src/protocols/gemini/index.ts'
import { openaiChat } from '../../../src/protocols/openai-chat/index.ts'
import type { UpstreamProtocol } from '../../../src/protocols/protocol.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { chunk, frame, usageChunk } from './answers.ts'
import { awsMessage } from './aws-events.ts'

/** The provider's own counts so far. */
export interface Billed {
  readonly prompt: number
  readonly reasoning: number
  readonly text: number
}

export interface Family {
  readonly name: string
  readonly protocol: UpstreamProtocol
  readonly model: string
  readonly hiddenReasoning: Provider['hiddenReasoning']
  /** Of `tokenizers` in `token-corpus.json`: whose counts the provider bills by. */
  readonly tokenizer: string
  /** What it bills for one token of that tokenizer, drawn for each answer. */
  readonly drift: readonly [least: number, most: number]
  /** Share of its reasoning that is shown as text: 0 none, 1 all, between: a summary. */
  readonly shows: readonly [least: number, most: number]
  /** Share of the requests that reason. */
  readonly reasons: number
  begin(billed: Billed): string | Buffer
  reasoning(text: string): string | Buffer
  text(text: string, billed: Billed): string | Buffer
  /** The rest of a whole answer. */
  end(billed: Billed): string | Buffer
}

const nothing = (): string => ''

/** The whole usage comes in the last chunk. */
const openaiWire = {
  begin: () => frame(chunk({ role: 'assistant', content: '' })),
  text: (text: string) => frame(chunk({ content: text })),
  end: ({ prompt, reasoning, text }: Billed) =>
    frame(chunk({}, 'stop')) +
    frame(
      usageChunk({
        prompt_tokens: prompt,
        completion_tokens: reasoning + text,
        total_tokens: prompt + reasoning + text,
        ...{ completion_tokens_details: { reasoning_tokens: reasoning } },
      }),
    ) +
    frame('[DONE]'),
}

const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const delta = (index: number, part: object): string => event('content_block_delta', { index, delta: part })

/** The prompt is told at once, the output at the end, thinking and text in one figure. */
const anthropicWire = {
  begin: ({ prompt }: Billed) =>
    event('message_start', {
      message: { id: 'msg_1', role: 'assistant', content: [], usage: { input_tokens: prompt, output_tokens: 4 } },
    }) +
    event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }) +
    event('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
  reasoning: (text: string) => delta(0, { type: 'thinking_delta', thinking: text }),
  text: (text: string) => delta(1, { type: 'text_delta', text }),
  end: ({ reasoning, text }: Billed) =>
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: reasoning + text } }) +
    event('message_stop', {}),
}

const geminiUsage = ({ prompt, reasoning, text }: Billed): object => ({
  promptTokenCount: prompt,
  candidatesTokenCount: text,
  thoughtsTokenCount: reasoning,
  totalTokenCount: prompt + reasoning + text,
})
/** Every chunk has the counts so far, thoughts included; nothing comes while it thinks. */
const geminiChunk = (text: string, billed: Billed, finish = {}): string =>
  frame({
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...finish }],
    usageMetadata: geminiUsage(billed),
  })

const block = (index: number, part: object): Buffer =>
  awsMessage('contentBlockDelta', { contentBlockIndex: index, delta: part })

/** Usage comes after the end, and does not tell reasoning from text. */
const bedrockWire = {
  begin: () => awsMessage('messageStart', { role: 'assistant' }),
  reasoning: (text: string) => block(0, { reasoningContent: { text } }),
  text: (text: string) => block(1, { text }),
  end: ({ prompt, reasoning, text }: Billed) =>
    Buffer.concat([
      awsMessage('contentBlockStop', { contentBlockIndex: 1 }),
      awsMessage('messageStop', { stopReason: 'end_turn' }),
      awsMessage('metadata', {
        usage: { inputTokens: prompt, outputTokens: reasoning + text, totalTokens: prompt + reasoning + text },
      }),
    ]),
}

/** What recorded answers of Claude were counted as, for one token of o200k, by that of `claude2`. */
const CLAUDE_DRIFT = [1.03, 1.15] as const

export const FAMILIES: readonly Family[] = [
  {
    name: 'OpenAI',
    protocol: openaiChat(),
    model: 'gpt-5.4',
    hiddenReasoning: 'unasked',
    tokenizer: 'o200k_base',
    drift: [1, 1],
    shows: [0, 0],
    reasons: 0.7,
    reasoning: nothing,
    ...openaiWire,
  },
  {
    name: 'Anthropic',
    protocol: anthropicMessages(),
    model: 'claude-sonnet-4-5',
    hiddenReasoning: 'asked',
    tokenizer: 'claude2',
    drift: CLAUDE_DRIFT,
    shows: [0.2, 0.5],
    reasons: 0.6,
    ...anthropicWire,
  },
  {
    name: 'Gemini',
    protocol: gemini(),
    model: 'gemini-2.5-pro',
    hiddenReasoning: 'unasked',
    tokenizer: 'gemma3',
    drift: [1, 1.1],
    shows: [0, 0],
    reasons: 0.9,
    begin: nothing,
    reasoning: nothing,
    text: geminiChunk,
    end: (billed) => geminiChunk('', billed, { finishReason: 'STOP' }),
  },
  {
    name: 'Bedrock (Claude)',
    protocol: bedrockConverse(),
    model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    hiddenReasoning: 'asked',
    tokenizer: 'claude2',
    drift: CLAUDE_DRIFT,
    shows: [0.2, 0.5],
    reasons: 0.6,
    ...bedrockWire,
  },
  {
    name: 'DeepSeek (OpenAI-compatible)',
    protocol: openaiChat(),
    model: 'deepseek-v4',
    hiddenReasoning: undefined,
    tokenizer: 'deepseek_v3',
    drift: [1, 1.03],
    shows: [1, 1],
    reasons: 0.7,
    ...openaiWire,
    reasoning: (text) => frame(chunk({ reasoning_content: text })),
  },
]
