import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { awsStream } from '../../../test/support/providers/aws-events.ts'
import type { ChatEvent, ChatMessage, ChatRequest } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { createDecoder } from '../framing.ts'
import { type Frame, ProviderError } from '../protocol.ts'
import { bedrockConverse } from './index.ts'

const codec = bedrockConverse()
const MODELS = [
  'amazon.titan-text-lite-v1',
  'us.amazon.nova-2-lite-v1:0',
  'openai.gpt-oss-20b-1:0',
  'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  'anthropic.claude-opus-4-6-v1',
  'anthropic.claude-opus-5-5',
  'arn:aws:bedrock:us-east-1:123456789012:inference-profile/x',
]

function tries<Result>(run: () => Result): Result | undefined {
  try {
    return run()
  } catch (error) {
    assert.ok(error instanceof ProviderError || error instanceof GatewayError, String(error))
    return undefined
  }
}

const word = fc.string({ unit: 'grapheme', maxLength: 12 })
const filled = word.map((text) => `w${text}`)
const json = fc.dictionary(
  word.filter((name) => name !== '__proto__'),
  fc.oneof(fc.integer(), word, fc.boolean()),
  {
    maxKeys: 3,
    noNullPrototype: true,
  },
)

interface Round {
  readonly asked: string
  readonly answered: string
  readonly calls: readonly { readonly arguments: Readonly<Record<string, unknown>>; readonly result: string }[]
}
const round: fc.Arbitrary<Round> = fc.record({
  asked: filled,
  answered: filled,
  calls: fc.array(fc.record({ arguments: json, result: filled }), { maxLength: 3 }),
})

function conversation(rounds: readonly Round[]): ChatMessage[] {
  return rounds.flatMap(({ asked, answered, calls }, place): ChatMessage[] => {
    const ids = calls.map((_, index) => `call_${place}_${index}`)
    const made = calls.map((call, index) => ({
      id: ids[index] ?? '',
      type: 'function' as const,
      function: { name: 'look', arguments: JSON.stringify(call.arguments) },
    }))
    return [
      { role: 'user', content: asked },
      { role: 'assistant', content: answered, ...(made.length > 0 ? { tool_calls: made } : {}) },
      ...calls.map(
        ({ result }, index): ChatMessage => ({ role: 'tool', tool_call_id: ids[index] ?? '', content: result }),
      ),
    ]
  })
}

const plain: ChatRequest = { model: 'm', messages: [], stream: false, includeUsage: false, n: 1, extra: {} }

test('a conversation keeps what was said, by whom and in which order', () => {
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 4 }), fc.constantFrom(...MODELS), (rounds, model) => {
      const messages: ChatMessage[] = [...conversation(rounds), { role: 'user', content: 'So?' }]
      const tools = [{ type: 'function' as const, function: { name: 'look' } }]
      const wire = codec.renderRequest({ ...plain, messages, tools }, { model, maxOutputTokens: undefined })
      const body = JSON.parse(wire.body) as { messages: { role: string; content: Record<string, never>[] }[] }
      assert.deepEqual(body.messages.flatMap(meaningsOfTurn), messages.flatMap(meaningsOfMessage))
      body.messages.forEach(({ role }, place) => {
        assert.equal(role, place % 2 === 0 ? 'user' : 'assistant')
      })
    }),
  )
})

function meaningsOfMessage({ role, content, tool_calls: calls = [] }: ChatMessage): string[] {
  const said = `${role === 'tool' ? 'result' : role}: ${String(content)}`
  return [said, ...calls.map((call) => `call: ${call.function.name} ${call.function.arguments}`)]
}

interface ReadBlock {
  readonly text?: string
  readonly toolUse?: { readonly name: string; readonly input: unknown }
  readonly toolResult?: { readonly content: readonly { readonly text: string }[] }
}

function meaningsOfTurn({ role, content }: { role: string; content: readonly ReadBlock[] }): string[] {
  return content.map(({ text, toolUse, toolResult }) => {
    if (toolUse !== undefined) return `call: ${toolUse.name} ${JSON.stringify(toolUse.input)}`
    return toolResult === undefined ? `${role}: ${text}` : `result: ${toolResult.content[0]?.text}`
  })
}

interface Said {
  readonly thought: string
  readonly text: string
  readonly calls: readonly Readonly<Record<string, unknown>>[]
}

test('whole and streamed, the same answer is the same to the client', () => {
  const said: fc.Arbitrary<Said> = fc.record({ thought: word, text: word, calls: fc.array(json, { maxLength: 3 }) })
  fc.assert(
    fc.property(said, fc.nat({ max: 5 }), (answer, pieces) => {
      assert.deepEqual(joined(streamed(answer, pieces)), joined(codec.parseResponse(whole(answer))))
    }),
  )
})

const USAGE = { inputTokens: 3, outputTokens: 4, totalTokens: 7 }

function whole({ thought, text, calls }: Said): string {
  const content = [
    { reasoningContent: { reasoningText: { text: thought, signature: 's' } } },
    { text },
    ...calls.map((input, index) => ({ toolUse: { toolUseId: `t${index}`, name: 'look', input } })),
  ]
  const stopReason = calls.length > 0 ? 'tool_use' : 'end_turn'
  return JSON.stringify({ output: { message: { role: 'assistant', content } }, stopReason, usage: USAGE })
}

function streamed({ thought, text, calls }: Said, pieces: number): ChatEvent[] {
  const delta = (contentBlockIndex: number, value: unknown) => ({
    contentBlockDelta: { contentBlockIndex, delta: value },
  })
  const events: Record<string, unknown>[] = [{ messageStart: { role: 'assistant' } }]
  events.push(...split(thought, pieces).map((piece) => delta(0, { reasoningContent: { text: piece } })))
  events.push(delta(0, { reasoningContent: { signature: 's' } }), { contentBlockStop: { contentBlockIndex: 0 } })
  events.push(...split(text, pieces).map((piece) => delta(1, { text: piece })), {
    contentBlockStop: { contentBlockIndex: 1 },
  })
  calls.forEach((input, place) => {
    const index = place + 2
    const toolUse = { toolUseId: `t${place}`, name: 'look' }
    events.push({ contentBlockStart: { contentBlockIndex: index, start: { toolUse } } })
    const json = JSON.stringify(input)
    events.push(...split(json === '{}' ? '' : json, pieces).map((piece) => delta(index, { toolUse: { input: piece } })))
    events.push({ contentBlockStop: { contentBlockIndex: index } })
  })
  events.push(
    { messageStop: { stopReason: calls.length > 0 ? 'tool_use' : 'end_turn' } },
    { metadata: { usage: USAGE } },
  )
  return read(awsStream(events))
}

function split(text: string, pieces: number): string[] {
  const size = Math.max(1, Math.ceil(text.length / (pieces + 1)))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  )
}

function read(bytes: Uint8Array): ChatEvent[] {
  const decoder = createDecoder('aws-event-stream', { maxEventBytes: 100_000 })
  const parser = codec.streamParser()
  const frames: Frame[] = []
  const events: ChatEvent[] = []
  decoder.push(bytes, frames)
  for (const frame of frames) if (parser.push(frame, events)) break
  parser.end(events)
  return events
}

/** Neighbouring pieces of the same thing put together. */
function joined(events: readonly ChatEvent[]): unknown {
  const texts: Record<string, string> = {}
  const rest: unknown[] = []
  for (const event of events) {
    if (event.type === 'text' || event.type === 'reasoning') texts[event.type] = (texts[event.type] ?? '') + event.text
    else if (event.type === 'tool-call')
      texts[`call ${event.toolIndex}`] = (texts[`call ${event.toolIndex}`] ?? '') + event.arguments
    else rest.push(event)
  }
  return { texts, rest }
}

test('no answer makes the codec throw anything but its own error', () => {
  const wild = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.string(), fc.integer(), fc.constant(null), tie('list'), tie('record')),
    list: fc.array(tie('value'), { maxLength: 3 }),
    record: fc.dictionary(
      fc.constantFrom(
        'output',
        'message',
        'content',
        'text',
        'toolUse',
        'input',
        'name',
        'stopReason',
        'usage',
        'delta',
        'start',
        'reasoningContent',
        'reasoningText',
        'redactedContent',
        'contentBlockIndex',
        'signature',
      ),
      tie('value'),
      { maxKeys: 5 },
    ),
  }))
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        wild.record.map((value) => JSON.stringify(value)),
      ),
      (body) => {
        tries(() => codec.parseResponse(body))
        tries(() => codec.parseError({ status: 400, headers: {}, body }, 0))
      },
    ),
  )
  const names = fc.constantFrom(
    'messageStart',
    'contentBlockStart',
    'contentBlockDelta',
    'contentBlockStop',
    'messageStop',
    'metadata',
    'exception:x',
    'new',
  )
  const frame = fc.record({
    event: names,
    data: fc.oneof(
      fc.string(),
      wild.record.map((value) => JSON.stringify(value)),
    ),
  })
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), (frames) => {
      const parser = codec.streamParser()
      tries(() => {
        for (const each of frames) parser.push(each, [])
        parser.end([])
      })
    }),
  )
})

test('no request makes the codec throw anything but a refusal', () => {
  const content = fc.oneof(
    word,
    fc.constant(null),
    fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('text' as const), text: word }),
        fc.record({
          type: fc.constant('image_url' as const),
          image_url: fc.record({
            url: fc.oneof(
              word,
              word.map((text) => `data:${text},${text}`),
            ),
          }),
        }),
        fc.record({
          type: fc.constant('file' as const),
          file: fc.record({ file_data: word.map((text) => `data:${text};base64,${text}`), filename: word }),
        }),
      ),
      { maxLength: 3 },
    ),
  )
  const message = fc.record({
    role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool' as const),
    content,
    tool_call_id: fc.constantFrom('a', 'b'),
    tool_calls: fc.array(
      fc.record({
        id: fc.constantFrom('a', 'b', 'ü'),
        type: fc.constant('function' as const),
        function: fc.record({
          name: word,
          arguments: fc.oneof(
            word,
            json.map((value) => JSON.stringify(value)),
          ),
        }),
      }),
      { maxLength: 2 },
    ),
    provider_context: fc.dictionary(fc.constantFrom('bedrock', 'other'), fc.anything()),
  })
  const request = fc.record(
    {
      messages: fc.array(message, { minLength: 1, maxLength: 5 }),
      reasoningEffort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max' as const),
      maxTokens: fc.integer({ min: 1, max: 100_000 }),
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      topP: fc.double({ min: 0, max: 1, noNaN: true }),
      toolChoice: fc.constantFrom('none', 'auto', 'required' as const),
      tools: fc.array(fc.record({ type: fc.constant('function' as const), function: fc.record({ name: word }) }), {
        maxLength: 2,
      }),
      stop: fc.array(word, { maxLength: 3 }),
      parallelToolCalls: fc.boolean(),
    },
    { requiredKeys: ['messages'] },
  )
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (fields, model) => {
      const wire = tries(() =>
        codec.renderRequest({ ...plain, ...fields } as ChatRequest, { model, maxOutputTokens: 8192 }),
      )
      if (wire === undefined) return
      const { messages } = JSON.parse(wire.body) as { messages: { role: string; content: unknown[] }[] }
      assert.equal(messages[0]?.role, 'user')
      messages.forEach(({ role, content: blocks }, place) => {
        assert.notEqual(role, messages[place - 1]?.role)
        assert.ok(blocks.length > 0)
      })
    }),
    { numRuns: 300 },
  )
})
