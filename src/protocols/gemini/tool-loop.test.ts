/** Loops of tool calls with thinking, through the client's side and back, against a judge as strict as the API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createJudge, type Judge, THINKING_LOOP } from '../../../test/support/providers/gemini-judge.ts'
import type { ChatEvent } from '../../domain/chat.ts'
import { createAnswer } from '../openai-chat/client/answer.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import { createStreamRenderer } from '../openai-chat/client/stream.ts'
import { gemini } from './index.ts'

// biome-ignore lint/suspicious/noExplicitAny: messages and bodies are any JSON here
type Anything = any

const codec = gemini()
const HEAD = { id: 'chatcmpl-1', created: 1, model: 'any' }
const BILL = { usage: {}, costUsd: 0 } as Anything
const NEW_MODEL = 'gemini-3.5-flash'

const tools = ['list', 'read'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { at: { type: 'string' } } } },
}))

type Speak = (parts: readonly Anything[], turn: number) => Anything

function wholeMessage(parts: readonly Anything[], turn: number): Anything {
  const body = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }], responseId: `turn-${turn}` }
  const answer = createAnswer()
  for (const event of codec.parseResponse(JSON.stringify(body))) answer.push(event)
  return JSON.parse(answer.render({ ...HEAD, ...BILL })).choices[0].message
}

/** Each part is a chunk; a client gathers the deltas. */
function streamedMessage(parts: readonly Anything[], turn: number): Anything {
  const parser = codec.streamParser()
  const events: ChatEvent[] = []
  for (const part of [...parts, undefined]) {
    const candidate = part === undefined ? { finishReason: 'STOP' } : { content: { role: 'model', parts: [part] } }
    parser.push({ event: '', data: JSON.stringify({ candidates: [candidate], responseId: `turn-${turn}` }) }, events)
  }
  parser.end(events)
  const renderer = createStreamRenderer({ ...HEAD, includeUsage: false })
  const text = events.map((event) => renderer.push(event)).join('') + renderer.close(BILL)
  return gathered(text.split('\n\n').filter((frame) => frame.startsWith('data: {')))
}

function gathered(frames: readonly string[]): Anything {
  const message: Anything = { role: 'assistant', content: null }
  for (const frame of frames) {
    const { delta } = JSON.parse(frame.slice('data: '.length)).choices[0]
    if (delta.content) message.content = (message.content ?? '') + delta.content
    if (delta.reasoning_content) message.reasoning_content = (message.reasoning_content ?? '') + delta.reasoning_content
    if (delta.provider_context) message.provider_context = delta.provider_context
    for (const { index, ...call } of delta.tool_calls ?? []) {
      message.tool_calls ??= []
      const known = message.tool_calls[index]
      if (known) known.function.arguments += call.function.arguments
      else message.tool_calls.push(call)
    }
  }
  return message
}

interface Loop {
  readonly speak: Speak
  readonly model: string
  /** What the client makes of a message before it sends it back. */
  readonly keep: (message: Anything) => Anything
  readonly judge: Judge
}

/** @returns the warnings of each request and the last body. Fails where the judge would refuse. */
function run({ speak, model, keep, judge }: Loop): {
  warnings: readonly string[][]
  body: Anything
  messages: Anything[]
} {
  const messages: Anything[] = [{ role: 'user', content: 'Look around.' }]
  const warnings: string[][] = []
  let body = ''
  const ask = (): void => {
    const request = parseChatRequest({
      model: 'any',
      messages: JSON.parse(JSON.stringify(messages)),
      tools,
      reasoning_effort: 'low',
    })
    const wire = codec.renderRequest(request, { model, maxOutputTokens: undefined })
    body = wire.body
    warnings.push([...wire.warnings])
    assert.equal(judge.judge(body), undefined)
  }
  THINKING_LOOP.forEach((parts, turn) => {
    ask()
    judge.gave(parts)
    const message = keep(speak(parts, turn))
    messages.push(message)
    for (const call of (message.tool_calls ?? []).toReversed()) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: `content of ${call.function.arguments}` })
    }
  })
  messages.push({ role: 'user', content: 'Thanks. Again?' })
  ask()
  return { warnings, body: JSON.parse(body), messages }
}

const asItIs = (message: Anything): Anything => message
const withoutExtras = ({ role, content, tool_calls }: Anything): Anything => ({
  role,
  content,
  ...(tool_calls && { tool_calls }),
})

const modelTurns = (body: Anything): Anything[] => body.contents.filter(({ role }: Anything) => role === 'model')
const withoutIds = (parts: readonly Anything[]): unknown =>
  parts.map(({ functionCall, ...part }: Anything) => {
    if (functionCall === undefined) return part
    return { ...part, functionCall: { name: functionCall.name, args: functionCall.args } }
  })

for (const [name, speak] of Object.entries({ whole: wholeMessage, streamed: streamedMessage })) {
  test(`a loop of ${name} answers is replayed exactly as the model spoke, but for its summaries`, () => {
    const { body, warnings } = run({
      speak,
      model: NEW_MODEL,
      keep: asItIs,
      judge: createJudge({ demandsSignatures: true }),
    })
    const spoken = THINKING_LOOP.map((parts) => withoutIds(parts.filter(({ thought }) => thought !== true)))
    assert.deepEqual(
      modelTurns(body).map(({ parts }) => withoutIds(parts)),
      spoken,
    )
    assert.deepEqual(warnings.flat(), [])
  })

  test(`a loop of ${name} answers goes on with a client that drops what it does not know`, () => {
    const { body, warnings } = run({
      speak,
      model: NEW_MODEL,
      keep: withoutExtras,
      judge: createJudge({ demandsSignatures: true }),
    })
    const signatures = modelTurns(body).map(({ parts }) =>
      parts.map(({ thoughtSignature }: Anything) => thoughtSignature),
    )
    const sentinel = 'skip_thought_signature_validator'
    assert.deepEqual(signatures, [[sentinel, undefined], [sentinel], [undefined, sentinel], [undefined]])
    assert.deepEqual(warnings.at(-1), ['messages[].provider_context'])
  })

  test(`a loop of ${name} answers needs no sentinel on models that do not ask`, () => {
    const judge = createJudge({ demandsSignatures: false })
    const { body } = run({ speak, model: 'gemini-2.5-flash', keep: withoutExtras, judge })
    assert.doesNotMatch(JSON.stringify(body), /thoughtSignature/)
  })
}

test('what a client changed is sent without the signature that no longer fits', () => {
  const shortened = (message: Anything): Anything => (message.tool_calls ? message : { ...message, content: 'There.' })
  const { body, warnings } = run({
    speak: wholeMessage,
    model: NEW_MODEL,
    keep: shortened,
    judge: createJudge({ demandsSignatures: true }),
  })
  assert.deepEqual(modelTurns(body).at(-1).parts, [{ text: 'There.' }])
  assert.deepEqual(warnings.at(-1), ['messages[].provider_context'])
})

test('a context that is not ours, or is nonsense, does no harm', () => {
  const nonsense = [
    null,
    5,
    { anthropic: { blocks: [] } },
    {
      gemini: {
        signatures: [
          1,
          {},
          { text: 'x', signature: 's' },
          { tool_call: 'none', signature: 's' },
          { image: '-1', signature: 's' },
        ],
      },
    },
  ]
  for (const context of nonsense) {
    const keep = (message: Anything): Anything => ({ ...withoutExtras(message), provider_context: context })
    run({ speak: wholeMessage, model: NEW_MODEL, keep, judge: createJudge({ demandsSignatures: true }) })
  }
})

test('an image that the model drew goes back with its signature', () => {
  const parts = [{ text: 'Here. ' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 'c2ln' }]
  const message = wholeMessage(parts, 0)
  const messages = [{ role: 'user', content: 'Draw.' }, message, { role: 'user', content: 'Bluer.' }]
  const wire = codec.renderRequest(parseChatRequest({ model: 'any', messages }), {
    model: NEW_MODEL,
    maxOutputTokens: undefined,
  })
  assert.deepEqual(JSON.parse(wire.body).contents[1].parts, parts)
})

test('the judge refuses what the API refuses', () => {
  const judge = createJudge({ demandsSignatures: true })
  const good = run({ speak: wholeMessage, model: NEW_MODEL, keep: asItIs, judge }).body
  const verdict = (change: (contents: Anything[]) => void): string | undefined => {
    const contents = JSON.parse(JSON.stringify(good.contents)).slice(0, 3)
    change(contents)
    return judge.judge(JSON.stringify({ ...good, contents }))
  }
  assert.equal(
    verdict(() => {}),
    undefined,
  )
  assert.match(verdict((contents) => delete contents[1].parts[0].thoughtSignature) ?? '', /missing a thought_signature/)
  assert.match(verdict((contents) => (contents[1].parts[0].thoughtSignature = 'b3RoZXI=')) ?? '', /Corrupted/)
  assert.match(verdict((contents) => contents[2].parts.pop()) ?? '', /number of function response parts/)
  assert.match(verdict((contents) => contents[2].parts.reverse()) ?? '', /does not match/)
  assert.match(verdict((contents) => contents.shift()) ?? '', /immediately after a user turn/)
  assert.match(
    verdict((contents) => contents.splice(2, 1, { role: 'user', parts: [{ text: 'x' }] })) ?? '',
    /without function response/,
  )
})
